"""Faults inside a stream that HTTP does not notice: late, missing, broken, doubled and oversized chunks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from fakemodel.checking import Seconds  # noqa: TC001 - pydantic reads it
from fakemodel.faults.base import At, Count, Fault
from fakemodel.script import Call
from fakemodel.stream import End, Stall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.faults.base import StreamTools
    from fakemodel.protocols.base import Answer, PlannedPart
    from fakemodel.stream import Item

__all__ = ["Duplicate", "Empty", "Garbage", "HalfArguments", "Huge", "Slow", "StallAt", "Truncate", "UnknownTool"]


class Slow(Fault):
    """Sends the headers at once and the first chunk late."""

    shorthand: ClassVar[str] = "delay"

    delay: Seconds

    def stream(self, items: Iterator[Item], tools: StreamTools) -> Iterator[Item]:  # noqa: ARG002 - it acts before all
        """Wait first."""
        yield Stall(self.delay)
        yield from items


class StallAt(Fault):
    """Sends nothing more from a point on, until the client leaves, or only for a time."""

    shorthand: ClassVar[str] = "at"

    at: At
    duration: Annotated[Seconds | None, Field(alias="for")] = None

    def stream(self, items: Iterator[Item], tools: StreamTools) -> Iterator[Item]:
        """Wait at the point."""
        locator = tools.find(self.at)
        for item in items:
            if locator.here(item):
                yield Stall(self.duration)
            yield item


class Truncate(Fault):
    """Ends the response properly at a point of the stream, so that what follows (at ``end``: the finish) is missing."""

    shorthand: ClassVar[str] = "at"

    at: At

    def stream(self, items: Iterator[Item], tools: StreamTools) -> Iterator[Item]:
        """End at the point."""
        locator = tools.find(self.at)
        for item in items:
            if locator.here(item):
                yield End()
            yield item


class Garbage(Fault):
    """Puts a frame that holds no JSON before a point."""

    shorthand: ClassVar[str] = "at"

    at: At
    text: str = '{"choices":[{"delta":'

    def stream(self, items: Iterator[Item], tools: StreamTools) -> Iterator[Item]:
        """Add the frame."""
        locator = tools.find(self.at)
        for item in items:
            if locator.here(item):
                yield f"data: {self.text}\n\n".encode()
            yield item


class Duplicate(Fault):
    """Sends the chunk after a point twice."""

    shorthand: ClassVar[str] = "at"

    at: At

    def stream(self, items: Iterator[Item], tools: StreamTools) -> Iterator[Item]:
        """Repeat the chunk."""
        locator = tools.find(self.at)
        passed = False
        for item in items:
            passed = locator.here(item) or passed
            if passed and isinstance(item, bytes):
                passed = False
                yield item
            yield item


class Empty(Fault):
    """Puts chunks with empty text before the first piece of content at or after a point."""

    shorthand: ClassVar[str] = "at"

    at: At
    count: Count = 1

    def stream(self, items: Iterator[Item], tools: StreamTools) -> Iterator[Item]:
        """Add the chunks."""
        return _inserted(items, tools, self.at, "", self.count)


class Huge(Fault):
    """Puts one chunk with so many characters of text before the first piece of content at or after a point."""

    shorthand: ClassVar[str] = "characters"

    characters: Count
    at: At = "start"

    def stream(self, items: Iterator[Item], tools: StreamTools) -> Iterator[Item]:
        """Add the chunk."""
        return _inserted(items, tools, self.at, "x" * self.characters, 1)


class HalfArguments(Fault):
    """Cuts the arguments of every call in the middle, and finishes as if they were whole."""

    shorthand: ClassVar[str] = "on"

    on: Literal[True]

    def answer(self, answer: Answer) -> Answer:
        """Cut the arguments."""
        parts = tuple(replace(part, arguments=part.arguments[: len(part.arguments) // 2]) for part in answer.parts)
        return replace(answer, parts=parts)


class UnknownTool(Fault):
    """Calls a tool by a name that the client does not know."""

    shorthand: ClassVar[str] = "name"

    name: Annotated[str, Field(min_length=1)]

    def answer(self, answer: Answer) -> Answer:
        """Rename every call."""
        return replace(answer, parts=tuple(self._renamed(part) for part in answer.parts))

    def _renamed(self, planned: PlannedPart) -> PlannedPart:
        part = planned.part
        return replace(planned, part=Call(self.name, part.arguments)) if isinstance(part, Call) else planned


def _inserted(items: Iterator[Item], tools: StreamTools, at: At, text: str, count: int) -> Iterator[Item]:
    """Insert pieces of content where the writer is within a part, the only place where they have a form."""
    locator = tools.find(at)
    passed = False
    for item in items:
        passed = locator.here(item) or passed
        if passed and tools.meter.content and tools.writer is not None and isinstance(item, bytes):
            passed = False
            yield from [tools.writer.piece(text)] * count
        yield item
