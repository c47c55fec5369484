"""What every protocol of a model provider offers: reading a request, writing an answer, whole or as a stream."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sse_starlette import ServerSentEvent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fakemodel.request import Request
    from fakemodel.script import Part, Usage

__all__ = ["Answer", "PlannedPart", "Writer", "WireProtocol", "event", "packed"]


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """A part of an answer with the id of its call (empty for prose)."""

    part: Part
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a writer must know of an answer: its number, the model asked for, the parts, the finish reason, the usage."""

    number: int
    model: str
    parts: tuple[PlannedPart, ...]
    finish: str
    usage: Usage


class Writer(Protocol):
    """Turns one answer into wire events; every bytes object is one chunk."""

    def opening(self) -> Sequence[bytes]:
        """Return the chunks before the first part."""

    def begin(self, index: int, part: PlannedPart) -> Sequence[bytes]:
        """Return the chunks that begin a part."""

    def piece(self, text: str) -> bytes:
        """Return the chunk with the next piece of the part: text, or JSON of the arguments."""

    def end(self) -> Sequence[bytes]:
        """Return the chunks that end the part."""

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

    def writer(self, answer: Answer) -> Writer:
        """Return what writes the answer as a stream."""

    def whole(self, answer: Answer, texts: Sequence[str]) -> bytes:
        """Return the answer as one JSON body; ``texts`` holds each part's text or arguments."""

    def error(self, status: int, message: str) -> bytes:
        """Return a JSON error body as the provider sends it."""

    def models(self) -> bytes:
        """Return the answer to a question for the list of models."""


def packed(value: object) -> str:
    """Return compact JSON; text stays readable, but a half surrogate pair must be escaped to go over the wire."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def event(value: object, name: str | None = None) -> bytes:
    """Frame a value (or text as it is) as one server-sent event."""
    return ServerSentEvent(value if isinstance(value, str) else packed(value), event=name, sep="\n").encode()
