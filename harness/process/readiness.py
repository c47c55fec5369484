"""Waits until a program says that it is ready, and tells a program that ended from one that stays silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

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

    def look() -> re.Match[str] | None:
        gone = not child.alive  # asked first: it may write the line just before it ends
        found = pattern.search(child.output())
        if gone and not found:
            raise CrashError(
                f"{child.name} ended with exit code {child.returncode} before it was ready; {_said(child)}"
            )
        return found

    looks = Retrying(
        retry=retry_if_result(lambda found: found is None),
        stop=stop_after_delay(seconds),
        wait=wait_fixed(_LOOK),
        sleep=child.wait,  # type: ignore[arg-type]  # ends at once with the child; its answer is not looked at
    )
    try:
        return cast("re.Match[str]", looks(look))
    except RetryError:
        raise DeadlineError(
            f"{child.name} (process {child.pid}) did not print a line like {pattern.pattern!r} "
            f"within {seconds:g} s; {_said(child)}"
        ) from None


def _said(child: Child) -> str:
    tail = child.tail()
    return f"it printed:\n{tail}" if tail.strip() else "it printed nothing"
