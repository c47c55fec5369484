"""A bash that writes down what it is asked to run, and then runs it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["RecordingShell", "ShellRecord"]

# One file a call, because bash writes line by line: two calls at once would mix their lines in a common file. `set -C`
# makes sure that no call takes the file of another, and the last field says that the record is complete.
_SCRIPT = """\
#!{bash}
at="${{EPOCHREALTIME-}}"
if [ "${{1-}}" = -c ]; then
  set -C
  printf '%s\\0%s\\0%s\\0end\\0' "${{at/,/.}}" "$(pwd -P)" "$2" > {records}/"$$-$RANDOM$RANDOM" || exit 126
  set +C
fi
exec {bash} "$@"
"""


class ShellRecord(NamedTuple):
    """One command that really ran: its folder, its text, and when it began (seconds since the epoch)."""

    folder: str
    command: str
    at: float


@dataclass(frozen=True, slots=True)
class RecordingShell:
    """A script for OpenCode's config key `shell`, which runs it as `bash -c <command>` (opencode-facts.md L).

    path: the script; OpenCode knows a shell by its name, so it is called bash. It belongs to one scenario.
    """

    path: Path
    _records: Path

    @classmethod
    def create(cls, folder: Path, bash: Path) -> RecordingShell:
        """Make the script in `folder`, which lies outside of the workspace; `bash` is the real one."""
        records = folder / "commands"
        records.mkdir(parents=True)
        script = folder / "bash"
        text = _SCRIPT.format(bash=shlex.quote(bash.as_posix()), records=shlex.quote(records.as_posix()))
        script.write_text(text, encoding="utf-8", newline="\n")
        script.chmod(0o755)
        return cls(path=script, _records=records)

    def records(self) -> tuple[ShellRecord, ...]:
        """Return the commands so far, in the order in which they began.

        Before bash 5 (macOS has 3.2) the time is that of the record's file, which is a few milliseconds later.
        """
        found = [_read(path) for path in self._records.iterdir()]
        return tuple(sorted((record for record in found if record), key=lambda record: record.at))


def _read(path: Path) -> ShellRecord | None:
    fields = path.read_bytes().decode("utf-8", errors="replace").split("\0")
    if len(fields) != 5 or fields[3] != "end":
        return None  # bash is just writing it
    return ShellRecord(folder=fields[1], command=fields[2], at=float(fields[0]) if fields[0] else path.stat().st_mtime)
