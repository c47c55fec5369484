"""Puts a guard where OpenCode loads it as its user does: a private copy whose entry tells the probe when it ran."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import SetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.scenario.model import GuardUse

__all__ = ["Installed", "install"]

# What a package's root holds beside the code that OpenCode loads; copying it would cost time and prove nothing.
LEFT_OUT = frozenset(("node_modules", ".git", "test", "tests", "docs"))
OWN_ENTRY = Path("src/index.ts")


@dataclass(frozen=True, slots=True)
class Installed:
    """A guard in place.

    Fields: `name` as expectations call it; `marker` its text to the model or None; `spec` what stands under `plugin` in
    opencode.json; `entry` the file that OpenCode evaluates; `root` the folder of the private copy; `source` what it was
    copied from.
    """

    name: str
    marker: str | None
    spec: list[Any] | str
    entry: Path
    root: Path
    source: Path


def install(use: GuardUse, root: Path, directory: Path, environ: Mapping[str, str] = os.environ) -> Installed:
    """Copy the guard to `root` and make its entry tell the probe that it was evaluated in the workspace `directory`.

    Raises SetupError when the path is missing or is nothing that OpenCode would load.
    """
    source = _source(use, environ)
    package, entry = _package(source, use)
    copy = root / package.name
    _copy(package, copy)
    target = copy / entry.relative_to(package)
    _announce(target, use.name, directory)
    url = (copy if source.is_dir() else target).as_uri()
    return Installed(use.name, use.marker, [url, use.options] if use.options is not None else url, target, copy, source)


def _source(use: GuardUse, environ: Mapping[str, str]) -> Path:
    if use.path is not None:
        if not use.path.exists():
            raise SetupError(
                f"guard {use.name}: {use.path} does not exist",
                "The path is relative to the scenario file; is the guard built?",
            )
        return use.path.resolve()
    chosen = environ.get("LOOP_GUARD_ENTRY") if use.name == "infinity" else None
    if chosen:
        if not Path(chosen).exists():
            raise SetupError(
                f"LOOP_GUARD_ENTRY: {chosen} does not exist",
                "Give the path of a built guard: its package folder or its entry file.",
            )
        return Path(chosen).resolve()
    return _own_package() / OWN_ENTRY


def _own_package() -> Path:
    """Find our own guards: beside the checkout's harness, or inside the wheel."""
    for place in (Path(__file__).parent.parent / "guard", Path(str(files("harness"))) / "_guard"):
        if (place / OWN_ENTRY).is_file():
            return place
    raise SetupError("the sources of guardlab's own guards were not found", "Install guardlab again.")


def _package(source: Path, use: GuardUse) -> tuple[Path, Path]:
    """Find what to copy and which file OpenCode evaluates (opencode-facts.md A.4, L)."""
    if source.is_dir():
        return source, _directory_entry(source, use)
    manifest = source.parent / "package.json"
    if manifest.is_file():
        instead = _declared(manifest)
        if instead and (source.parent / instead).resolve() != source:
            raise SetupError(
                f"guard {use.name}: OpenCode would load {source.parent / instead} instead of {source.name}, "
                f"because the package.json beside it names that file",
                "Name the package's folder, or a file in a folder without a package.json.",
            )
        return source.parent, source
    return _package_root(source), source


def _package_root(source: Path) -> Path:
    """Find the folder that the entry's imports stay in: the nearest one with a package.json, else its own folder."""
    for folder in source.parents:
        if (folder / "package.json").is_file():
            return folder
    return source.parent


def _directory_entry(folder: Path, use: GuardUse) -> Path:
    manifest = folder / "package.json"
    name = (_declared(manifest) if manifest.is_file() else None) or "index.js"
    entry = (folder / name).resolve()
    if not entry.is_file():
        raise SetupError(
            f"guard {use.name}: {folder} has no {name}",
            "OpenCode loads exports['./server'], else main, else index.js. Is the guard built?",
        )
    return entry


def _declared(manifest: Path) -> str | None:
    """Read which file a package names: exports["./server"] before main."""
    try:
        value = json.loads(manifest.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SetupError(f"{manifest}: not JSON ({error})") from error
    exports = value.get("exports")
    server = exports.get("./server") if isinstance(exports, dict) else None
    if isinstance(server, dict):
        server = server.get("import") or server.get("default")
    name = server or value.get("main")
    return name if isinstance(name, str) else None


def _copy(package: Path, copy: Path) -> None:
    shutil.copytree(
        package, copy, ignore=lambda folder, names: LEFT_OUT.intersection(names) if Path(folder) == package else ()
    )
    modules = package / "node_modules"
    if modules.is_dir():
        (copy / "node_modules").symlink_to(modules, target_is_directory=True)


def _announce(entry: Path, name: str, directory: Path) -> None:
    """Append the line that tells the probe; it is only reached when the whole module was evaluated."""
    said = json.dumps({"guard": name, "directory": str(directory), "url": entry.as_uri()})
    with entry.open("a", encoding="utf-8") as file:
        file.write(
            f"\n;((globalThis as any).__guardlab ??= []).push({said});\n"
            if entry.suffix == ".ts"
            else f"\n;(globalThis.__guardlab ??= []).push({said});\n"
        )
