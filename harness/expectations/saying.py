"""The expectations about what a guard tells its user: `toast`, `log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import model_validator

from harness.expectations.base import EVENTS, Count, Expectation, Need, Range, Verdict, failed, passed, unknown
from harness.expectations.words import count_words, quoted, times

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.timeline import Entry, Record

__all__ = ["Log", "Toast"]


class Toast(Expectation):
    """A toast in OpenCode's interface (seen under `serve`, opencode-facts.md L).

    Fields: `contains` a text of its title or message; `times` how often, at least once by default.
    """

    kind: ClassVar[str] = "toast"
    shorthand: ClassVar[str | None] = "contains"
    needs: ClassVar[Need | None] = EVENTS
    contains: str
    times: Count = Range(1, None)

    def judge(self, record: Record) -> Verdict:
        """Count the toasts with the text."""
        toasts = record.of("tui.toast.show")
        hits = [e for e in toasts if any(self.contains in str(e.data.get(key) or "") for key in ("title", "message"))]
        others = f"; others: {', '.join(quoted(str(e.data.get('message'))) for e in toasts[:3])}" if toasts else ""
        right = len(hits) in self.times
        actual = f"{len(hits)} of {count_words(len(toasts), 'toast')}" + ("" if right or hits else others)
        expected = f"{times(self.times, 'toast')} with {quoted(self.contains)}"
        return (passed if right else failed)(actual, expected, tuple(e.seq for e in hits or toasts))

    def claims_absence(self) -> bool:
        """Whether one toast more could fail."""
        return self.times.bounded


class Log(Expectation):
    """The lines that the guards of the run wrote to their logs.

    Fields: `contains` a text of a line, and `times` how many lines have it, at least one by default; `absent` a text of
    no line: something that a guard must not log. An absence in a log without a line is unknown, since a guard that logs
    nothing proves nothing; so is everything where guardlab knows of no guard where it logs.
    """

    kind: ClassVar[str] = "log"
    contains: str | None = None
    times: Count = Range(1, None)
    absent: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Log:
        if self.contains is None and self.absent is None:
            raise ValueError("a log has 'contains', 'absent' or both")
        if self.contains is None and "times" in self.model_fields_set:
            raise ValueError("'times' counts the lines with 'contains', which is missing")
        return self

    def judge(self, record: Record) -> Verdict:
        """Look through every line."""
        lines = record.of("log")
        expected = " and ".join(self._words())
        guards = record.facts.get("guards", ())
        if guards and not any(guard.get("log", True) for guard in guards):
            names = ", ".join(guard["name"] for guard in guards)
            return unknown(f"guardlab does not know where {names} logs", expected)
        if not lines and self.contains is None:
            return unknown("the guard logged nothing, so the absence proves nothing", expected)
        found = _with(lines, self.contains)
        leaked = _with(lines, self.absent)
        if leaked:
            shown = quoted(str(leaked[0].data.get("line")))
            actual = f"{len(leaked)} of {count_words(len(lines), 'line')} with it: {shown}"
            return failed(actual, expected, _seqs(leaked))
        if self.contains is not None and len(found) not in self.times:
            actual = f"{len(found) or 'none'} of {count_words(len(lines), 'line')}"
            return failed(actual, expected, _seqs(found or lines[-3:]))
        return passed(f"{count_words(len(lines), 'line')} looked through", expected, _seqs(found or lines))

    def _words(self) -> Iterator[str]:
        if self.contains is not None:
            counted = "times" in self.model_fields_set
            yield f"{times(self.times, 'line') if counted else 'a line'} with {quoted(self.contains)}"
        if self.absent is not None:
            yield f"no line with {quoted(self.absent)}"

    def claims_absence(self) -> bool:
        """Whether a text must not be there, or not once more."""
        return self.absent is not None or self.times.bounded


def _with(lines: Sequence[Entry], text: str | None) -> list[Entry]:
    return [line for line in lines if text is not None and text in str(line.data.get("line"))]


def _seqs(lines: Sequence[Entry]) -> tuple[int, ...]:
    return tuple(line.seq for line in lines)
