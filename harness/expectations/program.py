"""The expectations about `opencode run` as a program: `exit`, `stderr`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from harness.expectations.base import Expectation, Verdict, failed, passed, unknown
from harness.expectations.words import quoted

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["Exit", "Stderr"]

NO_PROGRAM = "the scenario did not run OpenCode as a program; say opencode: {via: run}"


class Exit(Expectation):
    """The exit code of `opencode run`: 0, or 1 after any session.error (opencode-facts.md H).

    Fields: `code`; minus the signal's number where a signal ended it.
    """

    kind: ClassVar[str] = "exit"
    shorthand: ClassVar[str | None] = "code"
    code: int

    def judge(self, record: Record) -> Verdict:
        """Compare the code."""
        code = record.facts.get("exit")
        if code is None:
            return unknown(NO_PROGRAM, f"exit code {self.code}")
        evidence = tuple(entry.seq for entry in record.of("exit"))
        return (passed if code == self.code else failed)(f"exit code {code}", f"exit code {self.code}", evidence)


class Stderr(Expectation):
    """What `opencode run` wrote to its standard error.

    Fields: `contains` a text of it.
    """

    kind: ClassVar[str] = "stderr"
    shorthand: ClassVar[str | None] = "contains"
    contains: str

    def judge(self, record: Record) -> Verdict:
        """Look for the text; a failure shows the end of what was written."""
        expected = f"a text with {quoted(self.contains)}"
        text = record.facts.get("stderr")
        if text is None:
            return unknown(NO_PROGRAM, expected)
        evidence = tuple(entry.seq for entry in record.of("exit"))
        if self.contains in text:
            return passed("found", expected, evidence)
        return failed(f"{quoted(text.strip()[-120:])} at its end" if text.strip() else "nothing", expected, evidence)
