"""The expectation `order`: what came before what."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, ValidationError, field_validator

from harness.expectations.base import Expectation, Verdict, failed, passed, unknown
from harness.expectations.families import FAMILIES
from harness.expectations.moments import DOUBTS, MOMENTS
from harness.expectations.precedence import Precedence
from harness.expectations.words import clip, ordinal, value_words

if TYPE_CHECKING:
    from harness.timeline import Entry, Record

__all__ = ["Order"]

Moment = str | dict[str, Any]
KINDS = {family.kind: family for family in FAMILIES}


class Order(Expectation):
    """Things happened in this order.

    Fields: `moments` a list of words (prompt, stream_closed, abort, idle, continuation, answer, blocked, executed,
    permission, toast) and of expectations (`{blocked: {tool: bash, nth: 3}}`), which stand for the first entry that
    proves them. A word that comes again means the next occurrence; `idle` is the first idle of that session after what
    stands before it.
    """

    kind: ClassVar[str] = "order"
    shorthand: ClassVar[str | None] = "moments"
    moments: Annotated[tuple[Moment, ...], Field(strict=False, min_length=2)]

    @field_validator("moments")
    @classmethod
    def _known(cls, moments: tuple[Moment, ...]) -> tuple[Moment, ...]:
        for moment in moments:
            if isinstance(moment, str):
                _check_word(moment)
            else:
                _expectation(moment)
        return moments

    def sessions(self) -> frozenset[str]:
        """Give the sessions that the expectations in the list mention."""
        inner = [_expectation(moment).sessions() for moment in self.moments if isinstance(moment, dict)]
        return frozenset().union(*inner)

    def claims_absence(self) -> bool:
        """Whether one of the expectations in the list does."""
        return any(_expectation(moment).claims_absence() for moment in self.moments if isinstance(moment, dict))

    def judge(self, record: Record) -> Verdict:
        """Find each moment and compare it with the one before."""
        precedence = Precedence(record)
        names = [_name(moment) for moment in self.moments]
        expected = ", then ".join(names)
        found: list[Entry] = []
        for index, moment in enumerate(self.moments):
            entry = self._find(record, precedence, moment, index, found)
            if entry is None:
                number = self.moments[: index + 1].count(moment)
                return _missing(record, moment, number, expected)
            found.append(entry)
        for index in range(1, len(found)):
            first, second = found[index - 1 : index + 1]
            result = precedence.between(first, second)
            if result == "after":
                return failed(f"{names[index]} came before {names[index - 1]}", expected, (second.seq, first.seq))
            if result == "unknown":
                actual = f"{names[index - 1]} and {names[index]} are too near to tell: {_apart(first, second)}"
                return unknown(actual, expected, (first.seq, second.seq))
        return passed(expected, expected, tuple(entry.seq for entry in found))

    def _find(
        self, record: Record, precedence: Precedence, moment: Moment, index: int, found: list[Entry]
    ) -> Entry | None:
        candidates = _candidates(record, moment)
        if moment == "idle" and found:
            last = found[-1]
            own = [entry for entry in candidates if last.session in (None, entry.session)]
            return next((entry for entry in own if precedence.between(last, entry) != "after"), None)
        earlier = self.moments[:index].count(moment)
        return candidates[earlier] if earlier < len(candidates) else None


def _apart(first: Entry, second: Entry) -> str:
    return f"{abs(second.at - first.at) * 1000:.0f} ms apart by the clocks of {first.source} and {second.source}"


def _candidates(record: Record, moment: Moment) -> list[Entry]:
    if isinstance(moment, str):
        return MOMENTS[moment][1](record)
    verdict = _expectation(moment).judge(record)
    proven = verdict.evidence if verdict.status == "pass" else ()
    by_seq = {entry.seq: entry for entry in record.entries}
    return [by_seq[seq] for seq in proven]


def _missing(record: Record, moment: Moment, number: int, expected: str) -> Verdict:
    """Say what was not there; what the record cannot tell makes the order unknown too."""
    if isinstance(moment, str):
        seen = tuple(entry.seq for entry in MOMENTS[moment][1](record))
        doubt = DOUBTS[moment](record) if moment in DOUBTS else ""
        actual = f"there was no {f'{ordinal(number)} ' if number > 1 else ''}{moment}"
        return unknown(f"{actual}: {doubt}", expected, seen) if doubt else failed(actual, expected, seen)
    inner = _expectation(moment).judge(record)
    verdict = unknown if inner.status == "unknown" else failed
    words = (
        f"{_name(moment)} has no entry" if inner.status == "pass" else f"{_name(moment)} did not hold: {inner.actual}"
    )
    return verdict(words, expected, inner.evidence)


def _check_word(word: str) -> None:
    if word not in MOMENTS:
        near = get_close_matches(word, MOMENTS, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"known are: {', '.join(MOMENTS)}"
        raise ValueError(f"order does not know '{word}'; {hint}")


def _expectation(moment: dict[str, Any]) -> Expectation:
    """Read `{kind: value}`. Raises ValueError in plain words."""
    if len(moment) != 1 or not set(moment) <= KINDS.keys():
        raise ValueError(f"order wants a word or one expectation, got {clip(value_words(moment), 60)}")
    ((kind, value),) = moment.items()
    family = KINDS[kind]
    try:
        if isinstance(value, dict) or family.shorthand is None:
            return family.model_validate(value)
        return family.model_validate({family.shorthand: value})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(
            f"{kind}{f' ({place})' if place else ''}: {first['msg'].removeprefix('Value error, ')}"
        ) from None


def _name(moment: Moment) -> str:
    return moment if isinstance(moment, str) else clip(value_words(moment), 60)
