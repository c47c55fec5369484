"""A reply in time: its chunks in order, with the points where gates and faults act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from fakemodel.prose import TurnCounter, count_pieces, cut, segments
from fakemodel.script import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fakemodel.protocols.base import Answer, PlannedPart, WireProtocol, Writer
    from fakemodel.script import Point, Reply

__all__ = [
    "Cut",
    "End",
    "Hold",
    "Item",
    "Locator",
    "Mark",
    "Meter",
    "Slice",
    "Stall",
    "chunks",
    "count_chunks",
    "middle_piece",
    "part_text",
    "sliced",
    "with_gate",
]


@dataclass(frozen=True, slots=True)
class Mark:
    """A point of the stream that is not sent: before the first content, or before the closing chunks."""

    at: Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class Hold:
    """Here the stream waits until the gate is released."""

    gate: str


@dataclass(frozen=True, slots=True)
class Stall:
    """Here the stream waits so many seconds (None: until the client leaves); a fault when it is ``recorded``."""

    seconds: float | None
    recorded: bool = True


@dataclass(frozen=True, slots=True)
class End:
    """Here the response ends as HTTP wants it, though the answer is not complete."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Here the connection is closed after the first bytes of a chunk: by FIN, or by RST."""

    by: Literal["fin", "rst"]
    partial: bytes = b""


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a chunk that gets a socket write of its own; the last one completes the chunk."""

    data: bytes
    last: bool


Item: TypeAlias = bytes | Mark | Hold | Stall | End | Cut | Slice
"""What a stream is made of; bytes are one chunk."""


class Meter:
    """Where a stream is: which part, and how much of it was handed over. Written by the generator of the chunks."""

    __slots__ = ("_before", "_counter", "content", "index", "planned", "sent")

    def __init__(self) -> None:
        self.index = 0
        self.planned: PlannedPart | None = None
        self.sent = 0
        self.content = False
        self._before = 0
        self._counter: TurnCounter | None = None

    def enter(self, index: int, planned: PlannedPart, reply: Reply) -> None:
        """Go on to the next part."""
        self._before += self.sent
        self.index, self.planned, self.sent = index, planned, 0
        part = planned.part
        self._counter = None if isinstance(part, Call) else TurnCounter(part.prose, reply.chunks)

    @property
    def text_sent(self) -> int:
        """Characters of all parts that were handed over."""
        return self._before + self.sent

    @property
    def repeats(self) -> int:
        """Whole repetitions of the current part's text that were handed over."""
        return self._counter.count(self.sent) if self._counter else 0

    @property
    def sentence(self) -> int | None:
        """The sentence (from 1) of its repetition that the current part's text goes on in; None in a call."""
        return self._counter.sentence(self.sent) if self._counter else None

    @property
    def place(self) -> tuple[int, str] | None:
        """Position (from 0) and kind of the current part."""
        return None if self.planned is None else (self.index, type(self.planned.part).__name__.lower())


def chunks(writer: Writer, answer: Answer, reply: Reply, meter: Meter, *, whole_calls: bool) -> Iterator[Item]:
    """Yield the chunks of an answer; ``meter`` is true whenever the consumer asks for the next one.

    ``meter.content`` says whether the chunk just yielded is a piece of a part, and not of what is around it.
    """
    yield from writer.opening()
    yield Mark("start")
    left = reply.max_chunks if reply.max_chunks is not None else -1
    for index, planned in enumerate(answer.parts):
        meter.enter(index, planned, reply)
        yield from writer.begin(index, planned)
        meter.content = True
        whole = whole_calls and isinstance(planned.part, Call)
        framed = writer.piece
        for piece in part_text(planned) if whole else cut(part_text(planned), reply.chunks):
            if left == 0:
                break
            left -= 1
            yield framed(piece)
            meter.sent += len(piece)
        meter.content = False
        yield from writer.end(lambda: _sent_text(meter))
    yield Mark("end")
    yield from writer.closing()


def part_text(planned: PlannedPart) -> Iterator[str]:
    """Return a part's text, or the JSON of its arguments, as segments."""
    return iter((planned.arguments,)) if isinstance(planned.part, Call) else segments(planned.part.prose)


def _sent_text(meter: Meter) -> str:
    """Return what was sent of the current part; made again from the script, because an endless text is not kept."""
    if meter.planned is None:
        return ""
    texts: list[str] = []
    length = 0
    for text in part_text(meter.planned):
        if length >= meter.sent:
            break
        texts.append(text)
        length += len(text)
    return "".join(texts)[: meter.sent]


def _pieces(answer: Answer, reply: Reply, *, whole_calls: bool) -> int:
    """Return how many pieces of content a finite answer has."""
    total = 0
    for planned in answer.parts:
        if not isinstance(planned.part, Call):
            endless = planned.part.prose.repeat is None
            total += reply.max_chunks or 0 if endless else count_pieces(planned.part.prose, reply.chunks)
        else:
            total += 1 if whole_calls else sum(1 for _ in cut(part_text(planned), reply.chunks))
    return total if reply.max_chunks is None else min(total, reply.max_chunks)


def count_chunks(protocol: WireProtocol, answer: Answer, reply: Reply) -> int | None:
    """Return how many chunks the whole answer has; None when it never ends."""
    if reply.endless:
        return None
    writer = protocol.writer(answer)
    around = len(writer.opening())
    for index, planned in enumerate(answer.parts):
        around += len(writer.begin(index, planned)) + len(writer.end(str))
    return around + _pieces(answer, reply, whole_calls=protocol.whole_calls) + len(writer.closing())


def middle_piece(protocol: WireProtocol, answer: Answer, reply: Reply) -> int:
    """Return the number (from 1) of the piece of content that the second half of a finite answer begins with."""
    return 0 if reply.endless else _pieces(answer, reply, whole_calls=protocol.whole_calls) // 2 + 1


class Locator:
    """Finds a point in one stream; ask it about every item in order."""

    def __init__(self, at: Point, meter: Meter, middle: Callable[[], int]) -> None:
        self.at = at
        self.found = False
        self._meter = meter
        # To know the middle, the whole answer must be counted, which no other point should wait for.
        self._middle = middle() if at == "middle" else 0
        self._chunk = 0
        self._piece = 0

    def here(self, item: Item) -> bool:
        """Say whether the point lies just before this item; true once at most."""
        if self.found:
            return False
        if isinstance(item, bytes):
            self._chunk += 1
            self._piece += self._meter.content
            self.found = self.at == self._chunk or (self._meter.content and self._piece == self._middle)
        elif isinstance(item, Mark):
            self.found = item.at == self.at
        return self.found


def with_gate(items: Iterator[Item], gate: str, locator: Locator) -> Iterator[Item]:
    """Put a gate into the stream."""
    for item in items:
        if locator.here(item):
            yield Hold(gate)
        yield item


def sliced(items: Iterator[Item], size: int) -> Iterator[Item]:
    """Cut every chunk into socket writes of so many bytes."""
    for item in items:
        if isinstance(item, bytes):
            for start in range(0, len(item), size):
                yield Slice(item[start : start + size], start + size >= len(item))
        else:
            yield item
