"""What every protocol of a model provider offers: reading a request, writing an answer, whole or as a stream."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from sse_starlette import ServerSentEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fakemodel.request import Request
    from fakemodel.script import Part, Usage

__all__ = ["GAP", "Answer", "PlannedPart", "Template", "WireProtocol", "Writer", "event", "packed", "parsed"]

GAP = "\0"
"""Stands in a template where the piece of text goes."""

_REMEMBERED = 1024
"""Chunks that a template keeps."""

_readable = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_escaped = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A part of an answer; a call with its id and its arguments as JSON text, which a fault may have broken."""

    part: Part
    call_id: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a writer must know: the answer's number, the model asked for, the parts, the finish reason, the usage."""

    number: int
    model: str
    parts: tuple[PlannedPart, ...]
    finish: str
    usage: Usage


class Writer(Protocol):
    """Turns one answer into wire events; every bytes object is one chunk."""

    def opening(self) -> Sequence[bytes]:
        """Return the chunks before the first part."""

    def begin(self, index: int, planned: PlannedPart) -> Sequence[bytes]:
        """Return the chunks that begin a part."""

    def piece(self, text: str) -> bytes:
        """Return the chunk with the next piece of the part: text, or JSON of the arguments."""

    def end(self, text: Callable[[], str]) -> Sequence[bytes]:
        """Return the chunks that end the part; ``text`` returns all of it that was sent."""

    def closing(self) -> Sequence[bytes]:
        """Return the chunks after the last part: finish reason, usage, end of the stream."""


class WireProtocol(Protocol):
    """One provider protocol. ``whole_calls``: a call's arguments must come in one piece."""

    name: str
    base_path: str
    whole_calls: bool

    def accepts(self, path: str) -> bool:
        """Say whether a POST to ``path`` (below the stage's token) asks this protocol for an answer."""

    def read(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Request:
        """Return the request; raises KeyError, TypeError or ValueError when the body has not the protocol's shape."""

    def call_id(self, request: Request, index: int, serial: int) -> str:
        """Return the id of the answer's call number ``index`` (from 0); ``serial`` is unique in the stage."""

    def writer(self, answer: Answer) -> Writer:
        """Return what writes the answer as a stream."""

    def whole(self, answer: Answer, texts: Sequence[str]) -> bytes:
        """Return the answer as one JSON body; ``texts`` holds each part's text or arguments."""

    def error(self, status: int, message: str) -> bytes:
        """Return a JSON error body as the provider sends it."""

    def models(self) -> bytes:
        """Return the answer to a question for the list of models."""


def serial_id(serial: int) -> str:
    """Return a call id of nine letters and digits: OpenCode cuts the ids of some providers (mistral) to this form."""
    return f"call{serial:05d}"


def packed(value: object) -> str:
    """Return compact JSON; text stays readable, but a half surrogate pair must be escaped to go over the wire."""
    text = _readable(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _escaped(value)
    return text


def parsed(text: str) -> Any:
    """Return what JSON text holds, or the text itself when it is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def event(value: object, name: str | None = None) -> bytes:
    """Frame a value (or text as it is) as one server-sent event."""
    return ServerSentEvent(value if isinstance(value, str) else packed(value), event=name, sep="\n").encode()


class Template:
    """A chunk with a gap for text, made ready once so that a piece costs little.

    ``filled`` returns the chunk with a text in its gap as a JSON string; it remembers what it made, because
    a model in a loop says the same again and again.
    """

    def __init__(self, frame: bytes, gap: str = packed(GAP)) -> None:
        self._before, _, self._after = frame.partition(gap.encode())
        self.filled: Callable[[str], bytes] = lru_cache(_REMEMBERED)(self._filled)

    def _filled(self, text: str) -> bytes:
        try:
            middle = _readable(text).encode()
        except UnicodeEncodeError:
            middle = _escaped(text).encode()
        return self._before + middle + self._after

    def raw(self, text: str) -> bytes:
        """Return the chunk with JSON text in its gap, as it is."""
        return self._before + text.encode() + self._after
