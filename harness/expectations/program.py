"""The expectations about `opencode run` as a program: `exit`, `stderr`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from harness.expectations.base import PROGRAM, Expectation, Need, Verdict, failed, passed, unknown
from harness.expectations.words import quoted

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["Exit", "Stderr"]

NO_PROGRAM = "the scenario did not run OpenCode as a program; say opencode: {via: run}"


class Exit(Expectation):
    """The exit code of `opencode run`: 0, or 1 after any session.error (opencode-facts.md H).

    Fields: `code`, which every process of the run ended with (each prompt has its own); minus the signal's number where
    a signal ended it.
    """

    kind: ClassVar[str] = "exit"
    shorthand: ClassVar[str | None] = "code"
    needs: ClassVar[Need | None] = PROGRAM
    late: ClassVar[bool] = True
    code: int

    def judge(self, record: Record) -> Verdict:
        """Compare the codes."""
        ends = [entry for entry in record.of("exit") if "code" in entry.data]
        expected = f"exit code {self.code}" + (f" of all {len(ends)} processes" if len(ends) > 1 else "")
        if not ends:
            return unknown(NO_PROGRAM, expected)
        wrong = [entry for entry in ends if entry.data["code"] != self.code]
        actual = f"exit code{'s' if len(ends) > 1 else ''} {', '.join(str(entry.data['code']) for entry in ends)}"
        return (failed if wrong else passed)(actual, expected, tuple(entry.seq for entry in wrong or ends))


class Stderr(Expectation):
    """What `opencode run` wrote to its standard error, all processes of the run together.

    Fields: `contains` a text of it.
    """

    kind: ClassVar[str] = "stderr"
    shorthand: ClassVar[str | None] = "contains"
    needs: ClassVar[Need | None] = PROGRAM
    late: ClassVar[bool] = True
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
