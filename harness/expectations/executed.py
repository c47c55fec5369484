"""The expectation `executed`: calls were carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from harness.expectations.base import CHILDREN, Count, Expectation, Need, Range, Verdict, failed, passed, unknown
from harness.expectations.effects import effects
from harness.expectations.views import emissions, matching
from harness.expectations.words import call_words, count_words, times

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["Executed"]


class Executed(Expectation):
    """Calls whose effect happened; a call that a guard blocked after its effect counts too.

    bash: the recording shell ran it. write: the file's bytes are the content. edit: the file's bytes changed. Every
    other tool: its part completed and a later request carries its result to the model.

    Fields: `tool`, `input` (the given keys are equal) and `session` choose the calls; `times` how many, at
    least 1 by default.
    """

    kind: ClassVar[str] = "executed"
    child_needs: ClassVar[Need | None] = CHILDREN
    tool: str
    input: dict[str, Any] | None = None
    session: str | None = None
    times: Count = Range(1, None)

    def judge(self, record: Record) -> Verdict:
        """Count the calls that took effect; a completed call without its proof makes the count uncertain."""
        calls = matching(emissions(record), self.tool, self.input, self.session)
        found = effects(record, self.tool, calls)
        done = sum(effect.happened is True for effect in found)
        doubts = [effect.doubt for effect in found if effect.happened is None]
        evidence = tuple(effect.entry for effect in found if effect.happened and effect.entry)
        evidence = evidence or tuple(call.last for call in calls)
        actual = f"executed: {done} of {count_words(len(calls), 'call')}"
        expected = f"executed: {times(self.times)} of the calls of {call_words(self.tool, self.input, self.session)}"
        possible = {number in self.times for number in range(done, done + len(doubts) + 1)}
        if len(possible) > 1:
            return unknown(f"{actual}, and {len(doubts)} completed although {doubts[0]}", expected, evidence)
        return (passed if True in possible else failed)(actual, expected, evidence)

    def claims_absence(self) -> bool:
        """Whether one execution more could fail."""
        return self.times.bounded
