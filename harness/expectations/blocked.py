"""The expectation `blocked`: a guard refused calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from harness.expectations.base import Count, Expectation, Range, Verdict, failed, passed, unknown
from harness.expectations.markers import blocked_by, missing_marker, named_guards, unknown_guard
from harness.expectations.views import Emission, emissions, matching
from harness.expectations.words import call_words, count_words, positions, range_positions, times

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["Blocked", "judge_positions"]


class Blocked(Expectation):
    """A guard refused calls: the model got an error that holds the guard's marker.

    Fields: `tool`, `input` (the given keys are equal) and `session` choose the calls, all by default; `nth` the
    positions among them, from 1, of the blocked ones (these and no others); `times` how many were blocked (at least 1
    by default); `by` the guard's name; `says` a text that the error holds, for guards without a known marker.
    """

    kind: ClassVar[str] = "blocked"
    tool: str | None = None
    input: dict[str, Any] | None = None
    session: str | None = None
    nth: Count | None = None
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
        return judge_positions(calls, hits, (what, words), self.nth, self.times)

    def claims_absence(self) -> bool:
        """Whether no block at all would pass."""
        return self.times is not None and 0 in self.times


def judge_positions(
    calls: list[Emission], hits: list[bool], words: tuple[str, str], nth: Range | None, wanted: Range | None
) -> Verdict:
    """Compare which of the calls are hits with exact positions, a count, or both; at least one hit by default.

    `words` say what a hit is and which calls are meant. The entries that disagree come first in the evidence.
    """
    seen = {number for number, hit in enumerate(hits, 1) if hit}
    count = wanted or (Range(1, None) if nth is None else Range(0, None))
    must = set(range(max(nth.low, 1), max(nth.high or len(calls), nth.low) + 1)) if nth else seen
    expected = [f"exactly {range_positions(nth)}"] if nth else []
    expected += [times(count)] if wanted or not nth else []
    what, chosen = words
    actual = f"{what}: {positions(seen)} of {count_words(len(calls))}"
    wrong = must ^ seen
    order = sorted(range(1, len(calls) + 1), key=lambda number: (number not in wrong, number))
    evidence = tuple(calls[number - 1].last for number in order)
    verdict = failed if wrong or len(seen) not in count else passed
    kept = evidence if verdict is failed else tuple(calls[number - 1].last for number in sorted(seen)) or evidence
    return verdict(actual, f"{what}: {' and '.join(expected)} of the calls of {chosen}", kept)
