"""The expectation `order`: what came before what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    create_model,
    model_validator,
)

from fakemodel.loading import StrictModel, suggest, wrong
from harness.expectations.base import Expectation, Verdict, failed, passed, unknown
from harness.expectations.families import FAMILIES
from harness.expectations.moments import MOMENTS
from harness.expectations.precedence import Precedence
from harness.expectations.words import clip, ordinal, value_words

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from harness.timeline import Entry, Record

__all__ = ["One", "Order"]


def _known(word: str) -> str:
    if word not in MOMENTS:
        near = suggest(word, MOMENTS)
        hint = f"did you mean '{near}'?" if near else f"known are: {', '.join(MOMENTS)}"
        raise wrong(f"order does not know '{word}'", hint)
    return word


class _One(StrictModel):
    """An expectation in the list, under its kind as everywhere; a field for each family is added below."""

    _written: Any = PrivateAttr()

    @model_validator(mode="wrap")
    @classmethod
    def _keep(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        one = handler(value)
        if len(one.model_fields_set) != 1:
            raise wrong("an entry of order is a word or one expectation", "make an entry of the list for each")
        one._written = value  # noqa: SLF001 - its own class is at work
        return one

    @property
    def expectation(self) -> Expectation:
        (kind,) = self.model_fields_set
        found: Expectation = getattr(self, kind)
        return found

    def __str__(self) -> str:
        """As the scenario file writes it."""
        return clip(value_words(self._written), 60)


if TYPE_CHECKING:
    One = _One
else:
    One = create_model("One", __base__=_One, **{family.kind: (family, None) for family in FAMILIES})

Moment = Annotated[str, AfterValidator(_known)] | One


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

    def inner(self) -> Iterator[tuple[int, Expectation]]:
        """Give the expectations in the list, each with its position there, from 0."""
        for index, moment in enumerate(self.moments):
            if isinstance(moment, One):
                yield index, moment.expectation

    def claims_absence(self) -> bool:
        """Whether one of the expectations in the list does."""
        return any(expectation.claims_absence() for _, expectation in self.inner())

    def judge(self, record: Record) -> Verdict:
        """Find each moment and compare it with the one before."""
        precedence = Precedence(record)
        names = [str(moment) for moment in self.moments]
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
        return MOMENTS[moment].find(record)
    verdict = moment.expectation.judge(record)
    proven = verdict.evidence if verdict.status == "pass" else ()
    by_seq = {entry.seq: entry for entry in record.entries}
    return [by_seq[seq] for seq in proven]


def _missing(record: Record, moment: Moment, number: int, expected: str) -> Verdict:
    """Say what was not there; what the record cannot tell makes the order unknown too."""
    if isinstance(moment, str):
        found = MOMENTS[moment]
        seen, doubt = tuple(entry.seq for entry in found.find(record)), found.doubt(record)
        actual = f"there was no {f'{ordinal(number)} ' if number > 1 else ''}{moment}"
        return unknown(f"{actual}: {doubt}", expected, seen) if doubt else failed(actual, expected, seen)
    inner = moment.expectation.judge(record)
    verdict = unknown if inner.status == "unknown" else failed
    words = f"{moment} has no entry" if inner.status == "pass" else f"{moment} did not hold: {inner.actual}"
    return verdict(words, expected, inner.evidence)
