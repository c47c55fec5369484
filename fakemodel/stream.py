"""A reply in time: its chunks in order, with the points where gates and faults can act, and the sending of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from fakemodel.prose import cut, repetitions, segments
from fakemodel.script import Call, Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.protocols.base import Answer, PlannedPart, WireProtocol, Writer
    from fakemodel.script import Chunking, Part, Reply

__all__ = ["Hold", "Item", "Mark", "Pause", "Position", "chunks", "part_text", "whole_text", "with_gate"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of the stream that is not sent: before the first content, or before the closing chunks."""

    at: Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class Hold:
    """Here the stream waits until the gate is released."""

    gate: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Here the stream waits, in seconds."""

    seconds: float


Item: TypeAlias = bytes | Mark | Hold | Pause


class Position:
    """Where a stream is: which part, how much of its text was handed over. Written by the generator of the chunks."""

    __slots__ = ("index", "paced", "part", "sent", "sent_before")

    def __init__(self) -> None:
        self.index = 0
        self.part: Part | None = None
        self.sent = 0
        self.sent_before = 0
        self.paced = False

    def enter(self, index: int, part: Part) -> None:
        """Go on to the next part."""
        self.sent_before += self.sent
        self.index, self.part, self.sent = index, part, 0

    @property
    def text_sent(self) -> int:
        """Characters of all parts that were handed over."""
        return self.sent_before + self.sent

    @property
    def repeats(self) -> int:
        """Whole repetitions of the current part's text that were handed over."""
        return repetitions(self.part.prose, self.sent) if isinstance(self.part, Say | Think) else 0

    @property
    def place(self) -> tuple[int, str] | None:
        """Position (from 0) and kind of the current part."""
        return None if self.part is None else (self.index, type(self.part).__name__.lower())


def chunks(writer: Writer, answer: Answer, reply: Reply, position: Position, *, whole_calls: bool) -> Iterator[Item]:
    """Yield the chunks of an answer; ``position`` is true whenever the consumer asks for the next one."""
    yield from writer.opening()
    yield Mark("start")
    left = reply.max_chunks if reply.max_chunks is not None else -1
    for index, planned in enumerate(answer.parts):
        position.enter(index, planned.part)
        yield from writer.begin(index, planned)
        position.paced = True
        for piece in _pieces(planned, reply.chunks, whole=whole_calls):
            if left == 0:
                break
            left -= 1
            yield writer.piece(piece)
            position.sent += len(piece)
        position.paced = False
        yield from writer.end()
    yield Mark("end")
    yield from writer.closing()


def _pieces(planned: PlannedPart, chunking: Chunking, *, whole: bool) -> Iterator[str]:
    text = part_text(planned.part)
    return text if whole and isinstance(planned.part, Call) else cut(text, chunking)


def part_text(part: Part) -> Iterator[str]:
    """Return a part's text, or the JSON of its arguments, as segments."""
    if isinstance(part, Call):
        return iter((json.dumps(part.arguments, ensure_ascii=False),))
    return segments(part.prose)


def whole_text(part: Part) -> str:
    """Return the whole text of a part that ends."""
    return "".join(part_text(part))


def with_gate(items: Iterator[Item], reply: Reply) -> Iterator[Item]:
    """Put the reply's first delay and its gate into the stream."""
    gate = reply.gate
    number = 0
    if reply.first_chunk_delay:
        yield Pause(reply.first_chunk_delay)
    for item in items:
        if isinstance(item, bytes):
            number += 1
            if gate is not None and gate.at == number:
                yield Hold(gate.name)
        yield item
        if isinstance(item, Mark) and gate is not None and gate.at == item.at:
            yield Hold(gate.name)


def count_chunks(protocol: WireProtocol, answer: Answer, reply: Reply) -> int | None:
    """Return how many chunks the whole answer has; None when it never ends."""
    if reply.endless:
        return None
    items = chunks(protocol.writer(answer), answer, reply, Position(), whole_calls=protocol.whole_calls)
    return sum(1 for item in items if isinstance(item, bytes))
