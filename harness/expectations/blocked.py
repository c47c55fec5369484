"""The expectation `blocked`: a guard refused calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from harness.expectations.base import CHILDREN, Count, Expectation, Need, Positions, Verdict, unknown
from harness.expectations.markers import blocked_by, missing_marker, named_guards, unknown_guard
from harness.expectations.positions import judge_positions
from harness.expectations.views import emissions, matching
from harness.expectations.words import call_words

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["Blocked"]


class Blocked(Expectation):
    """A guard refused calls: the model got an error that holds the guard's marker.

    Fields: `tool`, `input` (the given keys are equal) and `session` choose the calls, all by default; `nth` the
    positions among them, from 1, of the blocked ones (these and no others); `times` how many were blocked (at least 1
    by default); `by` the guard's name; `says` a text that the error holds, for guards without a known marker.
    """

    kind: ClassVar[str] = "blocked"
    child_needs: ClassVar[Need | None] = CHILDREN
    tool: str | None = None
    input: dict[str, Any] | None = None
    session: str | None = None
    nth: Positions | None = None
    times: Count | None = None
    by: str | None = None
    says: str | None = None

    def judge(self, record: Record) -> Verdict:
        """Count the blocked ones among the chosen calls."""
        guards = named_guards(record, self.by)
        calls = matching(emissions(record), self.tool, self.input, self.session)
        what = f"blocked by {self.by}" if self.by else "blocked"
        words = call_words(self.tool, self.input, self.session)
        missing = unknown_guard(record, self.by) or ("" if self.says is not None else missing_marker(guards))
        if missing:
            return unknown(missing, f"{what}: {words}", tuple(call.last for call in calls))
        hits = [blocked_by(call, guards, self.says) for call in calls]
        return judge_positions(hits, [call.last for call in calls], (what, words), self.nth, self.times)

    def guard(self) -> str | None:
        """Give the guard that must have done it."""
        return self.by

    def claims_absence(self) -> bool:
        """Whether one call or block more could fail."""
        return self.nth is not None or (self.times is not None and self.times.bounded)
