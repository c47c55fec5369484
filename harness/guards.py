"""Puts a guard where OpenCode loads it as its user does: a private copy whose entry tells the probe when it ran."""

from __future__ import annotations

import json
import os
import shutil
import stat
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import SetupError
from harness.modules import reach
from harness.process.platform import System

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from harness.scenario.model import GuardUse

__all__ = ["Installed", "install", "shares_modules"]

# What a package's root holds beside the code that OpenCode loads; copying it would cost time and prove nothing.
LEFT_OUT = frozenset(("node_modules", "test", "tests", "docs"))
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


@dataclass(frozen=True, slots=True)
class Layout:
    """What to copy: `items` (folders and files) keep their places below `base`; `entry` is what OpenCode evaluates."""

    base: Path
    items: tuple[Path, ...]
    entry: Path


def install(use: GuardUse, root: Path, directory: Path, environ: Mapping[str, str] = os.environ) -> Installed:
    """Copy the guard to `root` and make its entry tell the probe that it was evaluated in the workspace `directory`.

    Raises SetupError when the path is missing, cannot be copied or is nothing that OpenCode would load.
    """
    with _blamed(use):
        source = _source(use, environ)
        layout = _layout(source, use)
        copy = root / layout.base.name
        _copy(layout, copy)
        if use.path is not None:
            _hand_over_build(layout, root, copy, replace(use, name="infinity", path=None), environ)
        entry = copy / layout.entry.relative_to(layout.base)
        _announce(entry, use.name, directory)
    url = (copy / source.relative_to(layout.base)).as_uri()
    return Installed(use.name, use.marker, [url, use.options] if use.options is not None else url, entry, copy, source)


def shares_modules(use: GuardUse, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a guard imports a file by its whole path: its state would be shared, so it wants a process of its own.

    Raises SetupError as `install` does.
    """
    with _blamed(use):
        return bool(reach(_layout(_source(use, environ), use).entry).absolute)


@contextmanager
def _blamed(use: GuardUse) -> Iterator[None]:
    """Say of which guard the files cannot be used; the system's own words name the file."""
    try:
        yield
    except OSError as error:
        # copytree gathers what went wrong: (from, to, why) each.
        why = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise SetupError(
            f"guard {use.name} could not be copied: {why}",
            "Its files must be readable, and the temporary folder must have room for them.",
            key="guard",
        ) from error


def _source(use: GuardUse, environ: Mapping[str, str]) -> Path:
    if use.path is not None:
        if not use.path.exists():
            raise SetupError(
                f"guard {use.name}: {use.path} does not exist",
                "The path is relative to the scenario file; is the guard built?",
                key="guard",
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
    if use.name != "infinity":
        raise SetupError(
            f"guardlab has no {use.name} guard yet", "Name guard: infinity, or give yours by its path.", key="guard"
        )
    return _own_package() / OWN_ENTRY


def _own_package() -> Path:
    """Find our own guards: beside the checkout's harness, or inside the wheel."""
    for place in (Path(__file__).parent.parent / "guard", Path(str(files("harness"))) / "_guard"):
        if (place / OWN_ENTRY).is_file():
            return place
    raise SetupError("the sources of guardlab's own guards were not found", "Install guardlab again.")


def _layout(source: Path, use: GuardUse) -> Layout:
    """Find what to copy and which file OpenCode evaluates (opencode-facts.md A.4, L)."""
    entry = _directory_entry(source, use) if source.is_dir() else _file_entry(source, use)
    package = source if source.is_dir() else next((p for p in entry.parents if (p / "package.json").is_file()), None)
    files = reach(entry).files
    if package is None:
        return Layout(_common(files), files, entry)
    # Its files once more: they may lie outside of the package, or in a folder of it that is left out.
    more = tuple(file for file in files if package / "node_modules" not in file.parents)
    return Layout(_common((package / "package.json", *more)), (package, *more), entry)


def _common(files: Sequence[Path]) -> Path:
    """Give the nearest folder that holds all of these files."""
    return Path(os.path.commonpath([file.parent for file in files]))


def _file_entry(source: Path, use: GuardUse) -> Path:
    manifest = source.parent / "package.json"
    instead = _declared(manifest) if manifest.is_file() else None
    if instead and (source.parent / instead).resolve() != source:
        raise SetupError(
            f"guard {use.name}: OpenCode would load {source.parent / instead} instead of {source.name}, "
            f"because the package.json beside it names that file",
            "Name the package's folder, or a file in a folder without a package.json.",
            key="guard",
        )
    return source


def _directory_entry(folder: Path, use: GuardUse) -> Path:
    manifest = folder / "package.json"
    name = (_declared(manifest) if manifest.is_file() else None) or "index.js"
    entry = (folder / name).resolve()
    if not entry.is_file():
        raise SetupError(
            f"guard {use.name}: {folder} has no {name}",
            "OpenCode loads exports['./server'], else main, else index.js. Is the guard built?",
            key="guard",
        )
    return entry


def _declared(manifest: Path) -> str | None:
    """Read which file a package names: exports["./server"] before main."""
    try:
        value = json.loads(manifest.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SetupError(f"{manifest}: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise SetupError(f"{manifest}: not a JSON object")
    exports = value.get("exports")
    server = exports.get("./server") if isinstance(exports, dict) else None
    if isinstance(server, dict):
        server = server.get("import") or server.get("default")
    name = server or value.get("main")
    return name if isinstance(name, str) else None


def _copy(layout: Layout, copy: Path) -> None:
    for item in layout.items:
        target = copy / item.relative_to(layout.base)
        if item.is_dir():
            left_out = _left_out_of(item)
            shutil.copytree(item, target, ignore=left_out, ignore_dangling_symlinks=True, dirs_exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(item, target)
        _make_writable(target)
    _link_modules(layout, copy)


def _hand_over_build(layout: Layout, root: Path, copy: Path, infinity: GuardUse, environ: Mapping[str, str]) -> None:
    """Give a wrapper file that imports our own guard from source the build that LOOP_GUARD_ENTRY names instead."""
    if not environ.get("LOOP_GUARD_ENTRY"):
        return
    source = _own_package() / OWN_ENTRY
    if source not in layout.items:
        return
    build = _layout(_source(infinity, environ), infinity)
    place = root / "chosen-build"
    _copy(build, place)
    imported = copy / source.relative_to(layout.base)
    entry = place / build.entry.relative_to(build.base)
    specifier = json.dumps(Path(os.path.relpath(entry, imported.parent)).as_posix())
    imported.write_text(f"export * from {specifier};\nexport {{ default }} from {specifier};\n", encoding="utf-8")


def _make_writable(copied: Path) -> None:
    """Let a copy of read-only files be changed and removed, as below a store of packages."""
    for path in (copied, *copied.rglob("*")):
        path.chmod(path.stat().st_mode | (stat.S_IRWXU if path.is_dir() else stat.S_IWUSR))


def _left_out_of(package: Path) -> Callable[[str, list[str]], set[str]]:
    def left_out(folder: str, names: list[str]) -> set[str]:
        at_root = Path(folder) == package
        return {name for name in names if at_root and (name in LEFT_OUT or name.startswith("."))}

    return left_out


def _link_modules(layout: Layout, copy: Path) -> None:
    """Make the packages that the entry imports resolvable from the copy: the nearest node_modules above it."""
    home = next((folder for folder in layout.entry.parents if (folder / "node_modules").is_dir()), None)
    if home is None:
        return
    target = (copy / home.relative_to(layout.base) if home.is_relative_to(layout.base) else copy) / "node_modules"
    if not target.exists():  # only the package's own folder is copied without them
        target.parent.mkdir(parents=True, exist_ok=True)
        System.detect().link_folder(target, home / "node_modules")


def _announce(entry: Path, name: str, directory: Path) -> None:
    """Append the line that tells the probe; it is only reached when the whole module was evaluated."""
    said = json.dumps({"guard": name, "directory": str(directory), "url": entry.as_uri()})
    with entry.open("a", encoding="utf-8") as file:
        file.write(
            f"\n;((globalThis as any).__guardlab ??= []).push({said});\n"
            if entry.suffix == ".ts"
            else f"\n;(globalThis.__guardlab ??= []).push({said});\n"
        )
