"""The expectation `event`: OpenCode published something that no other expectation is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from harness.expectations.base import EVENTS, Count, Expectation, Need, Range, Verdict, failed, passed
from harness.expectations.views import same
from harness.expectations.words import clip, count_words, times, value_words

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["Event"]


class Event(Expectation):
    """An event of OpenCode's stream (opencode-facts.md C), by its type and a part of its properties.

    Fields: `type`; `session` all by default; `has` a mapping that the properties contain, at every depth; `times` how
    often, at least once by default. Deltas of text are not kept, so none is ever found.
    """

    kind: ClassVar[str] = "event"
    needs: ClassVar[Need | None] = EVENTS
    type: str
    session: str | None = None
    has: dict[str, Any] | None = None
    times: Count = Range(1, None)

    def judge(self, record: Record) -> Verdict:
        """Count the events that fit."""
        events = [entry for entry in record.of(self.type, session=self.session) if entry.source == "events"]
        hits = [entry for entry in events if contains(entry.data, self.has or {})]
        holding = f" with {value_words(self.has)}" if self.has else ""
        expected = f"{times(self.times, 'event')} {self.type}{holding}"
        actual = f"{len(hits)} of {count_words(len(events), 'event')} {self.type}"
        if len(hits) in self.times:
            return passed(actual, expected, tuple(entry.seq for entry in hits or events))
        last = f"; the last: {clip(value_words(events[-1].data))}" if events and not hits else ""
        return failed(actual + last, expected, tuple(entry.seq for entry in hits or events))

    def claims_absence(self) -> bool:
        """Whether one event more could fail."""
        return self.times.bounded


def contains(value: object, part: object) -> bool:
    """Whether a mapping has the given keys with the given values, at every depth; anything else must be equal."""
    if isinstance(part, Mapping):
        return isinstance(value, Mapping) and all(key in value and contains(value[key], part[key]) for key in part)
    return same(value, part)
