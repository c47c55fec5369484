"""Installs one npm package into the cache folder, once for all processes, and never by half."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from rich.console import Console

from harness.errors import SetupError
from harness.opencode.versions import read_version

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Npm"]

_INSTALL_DEADLINE = 900.0  # seconds: 60 MB over a slow line
_VIEW_DEADLINE = 60.0  # seconds
_INSTALL_FLAGS = (
    "--ignore-scripts",
    "--install-strategy=nested",  # what a package depends on lies in its own folder, which is what is kept
    "--no-save",
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",  # a version never changes: what npm has kept is as good
    "--fetch-retry-mintimeout=1000",  # milliseconds; without a network npm would go on for minutes
    "--fetch-retry-maxtimeout=5000",
)


@dataclass(frozen=True, slots=True)
class Npm:
    """The npm client and the cache folder that it fills.

    program: the client, None when there is none. cache: the folder; each package gets `<cache>/<package>/<version>`.
    """

    program: Path | None
    cache: Path

    def newest(self, package: str) -> str:
        """Return the newest version of a package. Raises SetupError when the registry can't be asked."""
        said = self._call(["view", f"{package}@latest", "version"], self.cache, _VIEW_DEADLINE)
        version = read_version(said)
        if version is None:
            raise SetupError(f"`npm view {package}@latest version` printed: {said.strip()}; wanted a version number")
        return version

    def place(self, package: str, version: str) -> Path:
        """Return the folder of an installed package, whether it is there or not."""
        return self.cache / package.replace("/", "+") / version

    def install(self, package: str, version: str, check: Callable[[Path], None]) -> Path:
        """Return the folder of `package`, installed now if it is not there yet.

        `check` gets the folder before anything else can see it, and raises when what was fetched is no good; then
        nothing is kept.
        Two processes at once: the second one waits and takes what the first one installed.
        Raises SetupError when npm fails and when the cache can't be written.
        """
        place = self.place(package, version)
        if place.is_dir():
            return place
        self._found()
        lock = FileLock(place.with_name(f".{version}.lock"), timeout=_INSTALL_DEADLINE)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with lock:
                if not place.is_dir():
                    self._fetch(package, version, place, check)
        except Timeout:
            raise SetupError(
                f"another process has been installing {package}@{version} for {_INSTALL_DEADLINE:g} s",
                f"Look for a hanging npm, or remove {lock.lock_file}.",
            ) from None
        except OSError as error:
            raise SetupError(
                f"{package}@{version} could not be put into {place}: {error.strerror or error}",
                "Set the variable GUARDLAB_CACHE to a folder that can be written and has 300 MB to spare.",
            ) from None
        return place

    def discard(self, package: str, version: str) -> None:
        """Remove an installed package that turned out to be damaged."""
        shutil.rmtree(self.place(package, version), ignore_errors=True)

    def _fetch(self, package: str, version: str, place: Path, check: Callable[[Path], None]) -> None:
        for left in place.parent.glob(f".{version}-*"):  # by a killed process: the lock is ours, so nobody uses it
            shutil.rmtree(left, ignore_errors=True)
        console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        wanted = f"{package}@{version}"
        with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=place.parent, ignore_cleanup_errors=True) as name:
            part = Path(name)
            with console.status(f"guardlab: installing {wanted} with npm (once)"):
                if not console.is_terminal:
                    console.print(f"guardlab: installing {wanted} with npm (once)")
                self._call(["install", "--prefix", str(part), *_INSTALL_FLAGS, wanted], part, _INSTALL_DEADLINE)
                fetched = part / "node_modules" / package
                check(fetched)
            fetched.rename(place)
        console.print(f"guardlab: installed {wanted} in {place}")

    def _found(self) -> Path:
        if self.program is None:
            raise SetupError("npm was not found on the PATH")
        return self.program

    def _call(self, args: list[str], folder: Path, seconds: float) -> str:
        command = f"npm {' '.join(args)}"
        program = self._found()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            done = subprocess.run(
                [str(program), *args],
                cwd=folder,
                env={**os.environ, "NO_UPDATE_NOTIFIER": "1"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                check=False,
                timeout=seconds,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SetupError(f"`{command}` did not work: {error}") from None
        if done.returncode:
            raise SetupError(f"`{command}` failed with exit code {done.returncode}:\n{done.stderr.strip()[-2000:]}")
        return done.stdout
