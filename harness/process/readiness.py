"""Waits until a program says that it is ready, and tells a program that ended from one that stays silent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from harness.errors import CrashError, DeadlineError

if TYPE_CHECKING:
    import re

    from harness.process.supervisor import Child

__all__ = ["wait_for_line"]

_LOOK = 0.02  # seconds between two looks at the log


def wait_for_line(child: Child, pattern: re.Pattern[str], seconds: float = 15.0) -> re.Match[str]:
    """Return the match of `pattern` in what `child` has written, waiting at most `seconds` for it.

    `pattern` is searched in the whole output of this process: use `^` and re.MULTILINE where a line is meant.
    Raises CrashError when the child ends first and DeadlineError when the time is up; both carry the end of the output.
    """
    until = time.monotonic() + seconds
    ended = False
    while True:
        found = pattern.search(child.output())
        if found:
            return found
        if ended:
            raise CrashError(
                f"{child.name} ended with exit code {child.returncode} before it was ready; {_said(child)}"
            )
        if time.monotonic() >= until:
            raise DeadlineError(
                f"{child.name} (process {child.pid}) did not print a line like {pattern.pattern!r} "
                f"within {seconds:g} s; {_said(child)}"
            )
        ended = child.wait(_LOOK)  # it may have written the line just before it ended: look once more


def _said(child: Child) -> str:
    tail = child.tail()
    return f"it printed:\n{tail}" if tail.strip() else "it printed nothing"
