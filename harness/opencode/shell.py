"""A bash that writes down what it is asked to run, and then runs it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from harness.process.platform import System

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["RecordingShell", "ShellRecord"]

# One file a call, because bash writes line by line: two calls at once would mix their lines in a common file. `set -C`
# makes sure that no call takes the file of another, and the last field says that the record is complete.
_RECORD = """\
at="${{EPOCHREALTIME-}}"
set -C
printf '%s\\0' "${{at/,/.}}" "$({pwd})" "{command}" "${{GUARDLAB_CALL-}}" end \\
  > {records}/"$$-$RANDOM$RANDOM" || exit 126
set +C
"""
_PROGRAM = '#!{bash}\nif [ "${{1-}}" = -c ]; then\n{record}fi\nexec {bash} "$@"\n'
_STARTUP = 'unset BASH_ENV\nif [ -n "${{BASH_EXECUTION_STRING+x}}" ]; then\n{record}fi\nunset at\n'


class ShellRecord(NamedTuple):
    """One command that really ran.

    folder: where. command: its text. at: when it began, in seconds since the epoch.
    call: OpenCode's id of the tool call (the probe puts it into the environment as GUARDLAB_CALL), None for a command
    that no tool call started.
    """

    folder: str
    command: str
    at: float
    call: str | None = None


@dataclass(frozen=True, slots=True)
class RecordingShell:
    """A bash for OpenCode's config key `shell`, which runs it as `bash -c <command>` (opencode-facts.md L).

    path: the shell. It belongs to one scenario; OpenCode knows a shell by its name, so it is called bash.
    variables: what must be in the environment of the commands; empty on POSIX. A script is no program on Windows, so
    there `path` is the real bash, and BASH_ENV makes it read the recorder first.
    """

    path: Path
    variables: Mapping[str, str]
    _records: Path = field(repr=False)

    @classmethod
    def create(cls, folder: Path, bash: Path, *, system: System | None = None) -> RecordingShell:
        """Make the recorder in `folder`, which lies outside of the workspace; `bash` is the real one."""
        posix = (system or System.detect()).posix
        records = folder / "commands"
        records.mkdir(parents=True)
        record = _RECORD.format(
            pwd="pwd -P" if posix else "pwd -W 2>/dev/null || pwd -P",  # Git's bash says /c/x where OpenCode says C:\x
            command="$2" if posix else "$BASH_EXECUTION_STRING",
            records=shlex.quote(records.as_posix()),
        )
        script = folder / ("bash" if posix else "record.sh")
        text = (_PROGRAM if posix else _STARTUP).format(bash=shlex.quote(bash.as_posix()), record=record)
        script.write_text(text, encoding="utf-8", newline="\n")
        script.chmod(0o755)
        if posix:
            return cls(path=script, variables={}, _records=records)
        return cls(path=bash, variables={"BASH_ENV": script.as_posix()}, _records=records)

    def records(self) -> tuple[ShellRecord, ...]:
        """Return the commands so far, in the order in which they began.

        Before bash 5 (macOS has 3.2) the time is that of the record's file, which is a few milliseconds later.
        """
        found = [_read(path) for path in self._records.iterdir()]
        return tuple(sorted((record for record in found if record), key=lambda record: record.at))


def _read(path: Path) -> ShellRecord | None:
    fields = path.read_bytes().decode("utf-8", errors="replace").split("\0")
    if len(fields) != 6 or fields[4] != "end":
        return None  # bash is just writing it
    at = float(fields[0]) if fields[0] else path.stat().st_mtime
    return ShellRecord(folder=fields[1], command=fields[2], at=at, call=fields[3] or None)
