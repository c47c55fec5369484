"""Text without end at no cost: prose as a lazy stream of segments, cut into the pieces that become chunks."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.script import Chunking, Prose

__all__ = ["cut", "repetitions", "segments"]

_BUFFER = 4096
"""Characters that are looked at together; text without a boundary for so long is cut there."""

_PATTERNS = {
    "words": re.compile(r"\s*\S+\s*"),
    "sentences": re.compile(r".+?(?:[.!?…]+[\"'”’)\]]*\s+|\n\s*|\Z)", re.DOTALL),
}


def segments(prose: Prose) -> Iterator[str]:
    """Return the sentences and what joins them, in order, as often as they are said."""
    turns = itertools.count() if prose.repeat is None else range(prose.repeat)
    first = True
    for _ in turns:
        for sentence in prose.sentences:
            if not first:
                yield prose.join
            first = False
            yield sentence


def repetitions(prose: Prose, sent: int) -> int:
    """Return how many whole repetitions lie in the first ``sent`` characters of the prose."""
    length = sum(map(len, prose.sentences)) + len(prose.join) * (len(prose.sentences) - 1)
    return (sent + len(prose.join)) // (length + len(prose.join))


def cut(text: Iterator[str], chunking: Chunking) -> Iterator[str]:
    """Cut a stream of segments into pieces; joined again they are the same text.

    Pieces by ``utf16`` can end in the middle of a surrogate pair, as those of a JavaScript program do.
    """
    if chunking.by == "characters":
        return _by_length(text, chunking.size)
    if chunking.by == "utf16":
        return _by_utf16(text, chunking.size)
    return _by_pattern(text, _PATTERNS[chunking.by], chunking.size)


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
    rest = ""
    for block in _blocks(text):
        pieces = _found(pattern, rest + block)
        # The last piece may go on in the next block, and so does a group that is not full yet.
        whole = (len(pieces) - 1) // size * size
        for start in range(0, whole, size):
            yield "".join(pieces[start : start + size])
        rest = "".join(pieces[whole:])
        if len(rest) > _BUFFER * 4:
            yield rest
            rest = ""
    pieces = _found(pattern, rest)
    for start in range(0, len(pieces), size):
        yield "".join(pieces[start : start + size])


def _found(pattern: re.Pattern[str], text: str) -> list[str]:
    pieces = pattern.findall(text)
    # White space alone is no word, and no text may be lost.
    return pieces or [text] if text else []
