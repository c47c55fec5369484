"""Text without end at no cost: prose as a lazy stream of segments, cut into the pieces that become chunks."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from fakemodel.script import Chunking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.script import Prose

__all__ = ["TurnCounter", "count_pieces", "cut", "segments", "width"]

_BUFFER = 4096
"""Characters that are looked at together."""

_LONGEST = 4 * _BUFFER
"""Text that has no boundary for so many characters is cut all the same."""

_PATTERNS = {
    "words": re.compile(r"\s*\S+\s*"),
    "sentences": re.compile(r".+?(?:[.!?…]+[\"'”\u2019)\]]*\s+|\n\s*|\Z)", re.DOTALL),
}


def segments(prose: Prose) -> Iterator[str]:
    """Return the text in order, as often as it is said, in pieces that cost no memory: turns, or sentences."""
    return _same_turns(prose) if prose.vary is None else _varied_turns(prose)


def _same_turns(prose: Prose) -> Iterator[str]:
    once = prose.join.join(prose.sentences)
    again = prose.join + once
    more = itertools.repeat(again) if prose.repeat is None else itertools.repeat(again, prose.repeat - 1)
    return itertools.chain((once,), more)


def _varied_turns(prose: Prose) -> Iterator[str]:
    turns = itertools.count() if prose.repeat is None else range(prose.repeat)
    first = True
    for turn in turns:
        for sentence in prose.wording(turn):
            if not first:
                yield prose.join
            first = False
            yield sentence
        yield from itertools.repeat(*prose.growth(turn))


def width(text: str, chunking: Chunking) -> int:
    """Return the length of a text in characters, or in UTF-16 units where it is cut by them."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2 if chunking.by == "utf16" else len(text)


class TurnCounter:
    """Says after how many repetitions, and in which sentence, so many characters (or UTF-16 units) of a prose end."""

    def __init__(self, prose: Prose, chunking: Chunking) -> None:
        self._prose = prose
        self._chunking = chunking
        self._join = width(prose.join, chunking)
        # The turns that are known to be whole, and the length of the text up to their end. One
        # assignment sets both: a reader on another thread never sees one without the other.
        self._known = (0, 0)

    def count(self, sent: int) -> int:
        """Return the number of whole repetitions."""
        return self._whole(sent)[0]

    def sentence(self, sent: int) -> int:
        """Return in which sentence of its repetition (from 1) the text goes on; at the end of all, the last one."""
        turn, start = self._whole(sent)
        if turn == self._prose.repeat:
            return len(self._prose.wording(turn - 1))
        left = sent - start
        sentences = self._prose.wording(turn)
        for number, sentence in enumerate(sentences, 1):
            length = width(sentence, self._chunking)
            if left < length:
                return number
            left -= length + self._join
        return len(sentences)

    def _whole(self, sent: int) -> tuple[int, int]:
        """Return the number of whole repetitions, and the length at which the next one begins."""
        if self._prose.vary is None:
            step = self._length(0) + self._join
            turn = (sent + self._join) // step
            return turn, turn * step
        turn, end = self._known
        while True:
            start = end + (self._join if turn else 0)
            following = start + self._length(turn)
            if following > sent or turn == self._prose.repeat:
                return turn, start
            turn, end = turn + 1, following
            self._known = (turn, end)

    def _length(self, turn: int) -> int:
        sentences = self._prose.wording(turn)
        growing, times = self._prose.growth(turn)
        return (
            sum(width(sentence, self._chunking) for sentence in sentences)
            + self._join * (len(sentences) - 1)
            + width(growing, self._chunking) * times
        )


def cut(text: Iterator[str], chunking: Chunking) -> Iterator[str]:
    """Cut a stream of segments into pieces; joined again they are the same text.

    Pieces by ``utf16`` can end in the middle of a surrogate pair, as those of a JavaScript program do.
    """
    if chunking.by == "characters":
        return _by_length(text, chunking.size)
    if chunking.by == "utf16":
        return _by_utf16(text, chunking.size)
    return _by_pattern(text, _PATTERNS[chunking.by], chunking.size)


def count_pieces(prose: Prose, chunking: Chunking) -> int:
    """Return how many pieces a prose that ends is cut into."""
    if prose.repeat is None:
        raise ValueError("a prose without end has no number of pieces")
    # Every further repetition adds as much as the second does, so a long text need not be cut to be counted.
    one, two = (_measure(_repeated(prose, times), chunking) for times in (1, 2))
    if prose.vary is not None or prose.repeat <= 2 or one is None or two is None or one == two:
        return sum(1 for _ in cut(segments(prose), chunking))
    total = one + (two - one) * (prose.repeat - 1)
    return -(-total // chunking.size)


def _measure(prose: Prose, chunking: Chunking) -> int | None:
    """Return the length of a text in the unit that it is cut by; None where the buffer can cut a word too."""
    if chunking.by not in _PATTERNS:
        return sum(width(text, chunking) for text in segments(prose))
    pieces = list(cut(segments(prose), Chunking(1, chunking.by)))
    return None if max(map(len, pieces)) > _BUFFER else len(pieces)


def _repeated(prose: Prose, times: int) -> Prose:
    return type(prose)(prose.sentences, prose.join, times)


def _blocks(text: Iterator[str]) -> Iterator[str]:
    """Join segments to blocks of about the buffer's size, so that cutting costs little a piece."""
    parts: list[str] = []
    length = 0
    for segment in text:
        parts.append(segment)
        length += len(segment)
        if length >= _BUFFER:
            yield "".join(parts)
            parts, length = [], 0
    if parts:
        yield "".join(parts)


def _by_length(text: Iterator[str], size: int) -> Iterator[str]:
    rest = ""
    for block in _blocks(text):
        buffer = rest + block
        whole = len(buffer) - len(buffer) % size
        for start in range(0, whole, size):
            yield buffer[start : start + size]
        rest = buffer[whole:]
    if rest:
        yield rest


def _by_utf16(text: Iterator[str], size: int) -> Iterator[str]:
    rest = b""
    for block in _blocks(text):
        buffer = rest + block.encode("utf-16-le", "surrogatepass")
        whole = len(buffer) - len(buffer) % (2 * size)
        for start in range(0, whole, 2 * size):
            yield buffer[start : start + 2 * size].decode("utf-16-le", "surrogatepass")
        rest = buffer[whole:]
    if rest:
        yield rest.decode("utf-16-le", "surrogatepass")


def _by_pattern(text: Iterator[str], pattern: re.Pattern[str], size: int) -> Iterator[str]:
    """Group what the pattern finds; the last find of a block may go on in the next one and is held back."""
    group: list[str] = []
    rest = ""
    for block in _blocks(text):
        found = _found(pattern, rest + block)
        rest = found.pop()
        if len(rest) > _LONGEST:
            found.append(rest)
            rest = ""
        for piece in found:
            group.append(piece)
            if len(group) == size:
                yield "".join(group)
                group = []
    if rest:
        group.append(rest)
    if group:
        yield "".join(group)


def _found(pattern: re.Pattern[str], text: str) -> list[str]:
    """Find every piece of a text; white space alone is no word, yet no text may be lost."""
    return pattern.findall(text) or [text]
