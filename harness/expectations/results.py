"""The expectation `tool_result`: what the model was told of a call."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import model_validator

from harness.expectations.base import CHILDREN, Expectation, Need, Positions, Verdict
from harness.expectations.effects import result_of
from harness.expectations.positions import judge_positions
from harness.expectations.views import emissions, matching
from harness.expectations.words import call_words, quoted

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["ToolResult"]


class ToolResult(Expectation):
    """The text of a tool's result as the next request showed it to the model.

    Fields: `tool`, `input` (the given keys are equal) and `session` choose the calls; the text `contains` or `equals`
    this, or is `identical` (its SHA-256 is that of the first of them); `nth` the positions among them, from 1, of
    the calls with such a result (these and no others; at least one by default).
    """

    kind: ClassVar[str] = "tool_result"
    child_needs: ClassVar[Need | None] = CHILDREN
    tool: str
    input: dict[str, Any] | None = None
    session: str | None = None
    nth: Positions | None = None
    contains: str | None = None
    equals: str | None = None
    identical: Literal[True] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> ToolResult:
        if len([one for one in (self.contains, self.equals, self.identical) if one is not None]) != 1:
            raise ValueError("a tool_result has either 'contains' or 'equals' or 'identical: true'")
        return self

    def judge(self, record: Record) -> Verdict:
        """Compare what the model was told of the chosen calls."""
        calls = matching(emissions(record), self.tool, self.input, self.session)
        found = [result_of(record, call) for call in calls]
        meant = found[self.nth.low - 1 :] if self.nth else found
        first = next((hash_of(result[1]) for result in meant if result), "")
        hits = [result is not None and self._fits(result[1], first) for result in found]
        proofs = [result[0].seq if result else call.last for call, result in zip(calls, found, strict=True)]
        what = self._words(first)
        words = call_words(self.tool, self.input, self.session)
        verdict = judge_positions(hits, proofs, (what, words), self.nth, None)
        if verdict.status == "pass" or not calls:
            return verdict
        wrong = found[proofs.index(verdict.evidence[0])]
        said = f"the model was told {quoted(wrong[1])}" if wrong else "the model was told nothing of it"
        return replace(verdict, actual=f"{verdict.actual}; {said}")

    def claims_absence(self) -> bool:
        """Whether one call more could fail."""
        return self.nth is not None

    def _words(self, first: str) -> str:
        if self.identical:
            return f"result with SHA-256 {first[:12]}"
        return (
            f"result {quoted(self.equals)}" if self.equals is not None else f"result with {quoted(self.contains or '')}"
        )

    def _fits(self, text: str, first: str) -> bool:
        if self.identical:
            return hash_of(text) == first
        return text == self.equals if self.equals is not None else (self.contains or "") in text


def hash_of(text: str) -> str:
    """Give the SHA-256 of a text: what proves that two outputs are the same without keeping either."""
    return sha256(text.encode()).hexdigest()
