"""A fresh git repository for one scenario, as its user would have it."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from harness.errors import SetupError
from harness.opencode.isolation import seed_config_folder
from harness.scenario.model import EXCLUDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from harness.opencode.isolation import Home

__all__ = ["Workspace"]

UNREADABLE = "unreadable"

_MOMENT = "2026-01-01T00:00:00Z"  # fixed, so that equal files give equal commit hashes
_GIT_DEADLINE = 20.0  # seconds for one git command


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder that OpenCode works in: a git repository with one commit, in which OpenCode's own files do not show.

    root: the folder, absolute and without links, as OpenCode reports it.
    """

    root: Path

    @classmethod
    def create(
        cls, root: Path, files: Mapping[str, str], changes: Mapping[str, str] | None = None, *, home: Home, version: str
    ) -> Workspace:
        """Make the repository at `root`, which must not exist yet.

        files: path with forward slashes -> text; they are committed.
        changes: the same, written afterwards and not committed.
        home: whose git and environment to use. version: OpenCode's, for a `.opencode` folder among the files.
        Raises SetupError for a path that leaves the workspace, for one that can't be written, and when git fails.
        """
        home.system.check_workspace(root)
        for name in (*files, *(changes or {})):
            _check(name)
        root.mkdir(parents=True)
        made = cls(root.resolve())
        made._write(files)
        made._commit(home)
        made._write(changes or {})
        if (made.root / ".opencode").is_dir():
            seed_config_folder(made.root / ".opencode", version)
        return made

    def write_config(self, config: Mapping[str, Any]) -> Path:
        """Write OpenCode's config for this workspace and return its path; git does not see it."""
        path = self.root / "opencode.json"
        path.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return path

    def contents(self) -> dict[str, str]:
        """Return path (with forward slashes) -> SHA-256 of every file, without `.git` and OpenCode's own files.

        What vanishes while it is read is not there; what can't be read has the word UNREADABLE instead of a hash.
        """
        hashes = {name: _hash(self.root / name) for name in sorted(self._names())}
        return {name: hashed for name, hashed in hashes.items() if hashed is not None}

    def _names(self) -> Iterator[str]:
        """Give the path of every file. A folder that vanishes meanwhile is passed over; `.git` is not walked."""
        for folder, folders, files in os.walk(self.root):
            place = Path(folder).relative_to(self.root)
            folders[:] = [name for name in folders if not _is_internal((place / name).as_posix())]
            yield from (name for file in files if not _is_internal(name := (place / file).as_posix()))

    def _write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="")
            except OSError as error:
                raise SetupError(f"workspace file {name!r} could not be written: {error.strerror}") from None

    def _commit(self, home: Home) -> None:
        dates = {"GIT_AUTHOR_DATE": _MOMENT, "GIT_COMMITTER_DATE": _MOMENT}
        environment = home.environment() | dates

        def git(*args: str) -> None:
            _run([str(home.git), *args], self.root, environment)

        git("init", "--quiet", "--initial-branch=main", "--template=")
        info = self.root / ".git" / "info"
        info.mkdir(exist_ok=True)
        (info / "exclude").write_text("".join(f"/{name}\n" for name in EXCLUDED), encoding="utf-8")
        # OpenCode names a project after its first commit, so equal workspaces would become one; here it looks first.
        (self.root / ".git" / "opencode").write_text(secrets.token_hex(20), encoding="utf-8")
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--no-verify", "--message", "Start")


def _is_internal(name: str) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in (".git", *EXCLUDED))


def _hash(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    except FileNotFoundError:
        return None
    except OSError:
        return UNREADABLE


def _check(name: str) -> None:
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    outside = posix.is_absolute() or windows.is_absolute() or bool(windows.drive) or ".." in windows.parts
    if outside or not posix.parts:
        raise SetupError(
            f"workspace file {name!r} does not lie inside the workspace",
            "Write the path from the workspace's root, without '..'.",
        )
    if posix.parts[0].lower() == ".git" or posix.parts == ("opencode.json",):
        raise SetupError(
            f"workspace file {name!r} belongs to the harness",
            "Put OpenCode's config under `opencode: {config: ...}`; the repository is made for the scenario.",
        )


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    try:
        subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_GIT_DEADLINE,
        )
    except subprocess.TimeoutExpired:
        raise SetupError(f"`{' '.join(command)}` did not end within {_GIT_DEADLINE:g} s in {folder}") from None
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", errors="replace").strip()
        raise SetupError(
            f"`{' '.join(command)}` failed with exit code {error.returncode} in {folder}: {said}"
        ) from None
