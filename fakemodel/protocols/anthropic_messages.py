"""Anthropic Messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemodel.protocols.base import GAP, Template, event, packed, serial_id
from fakemodel.protocols.openai_chat import text_of
from fakemodel.request import Call, Message, Request, Result
from fakemodel.script import Call as CallPart
from fakemodel.script import Say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fakemodel.protocols.base import Answer, PlannedPart
    from fakemodel.script import Usage

__all__ = ["AnthropicMessages"]

_STOP = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    "unknown": "something_new",
    "none": None,
}
_SIGNATURE = "c2NyaXB0ZWQ="


class AnthropicMessages:
    """The Messages protocol (opencode-facts.md J)."""

    name = "anthropic_messages"
    base_path = "/v1"
    whole_calls = False

    def accepts(self, path: str) -> bool:
        """Accept the one path."""
        return path == "/v1/messages"

    def read(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Request:  # noqa: ARG002 - the path says nothing here
        """Read the request."""
        return Request(
            model=body["model"],
            stream=bool(body.get("stream", False)),
            system=text_of(body.get("system")),
            messages=tuple(part for message in body["messages"] for part in _messages(message)),
            tools=tuple(tool["name"] for tool in body.get("tools") or ()),
            headers=headers,
            body=body,
        )

    def call_id(self, request: Request, index: int, serial: int) -> str:  # noqa: ARG002 - the serial is enough
        """Return an id that is unique in the stage."""
        return serial_id(serial)

    def writer(self, answer: Answer) -> _Writer:
        """Write a stream."""
        return _Writer(answer)

    def whole(self, answer: Answer, texts: Sequence[str]) -> bytes:
        """Write one body; arguments go in as they are, which broken ones break."""
        blocks = [_block(planned, text) for planned, text in zip(answer.parts, texts, strict=True)]
        message = {**_message_head(answer), "stop_reason": _STOP[answer.finish], "usage": _usage(answer.usage)}
        return Template(packed({**message, "content": GAP}).encode()).raw(f"[{','.join(blocks)}]")

    def error(self, status: int, message: str) -> bytes:
        """Write an error."""
        kind = {
            400: "invalid_request_error",
            401: "authentication_error",
            429: "rate_limit_error",
            529: "overloaded_error",
        }
        error = {"type": kind.get(status, "api_error"), "message": message}
        return packed({"type": "error", "error": error}).encode()

    def models(self) -> bytes:
        """Write the list of models."""
        model = {"type": "model", "id": "fake", "display_name": "fake", "created_at": "1970-01-01T00:00:00Z"}
        return packed({"data": [model], "has_more": False, "first_id": "fake", "last_id": "fake"}).encode()


class _Writer:
    """Writes one stream: every part is a content block."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._index = 0
        self._thinks = False
        self.piece: Callable[[str], bytes] = str.encode

    def opening(self) -> list[bytes]:
        usage = {**_usage(self._answer.usage), "output_tokens": 1}
        message = {**_message_head(self._answer), "content": [], "stop_reason": None, "usage": usage}
        return [_event("message_start", message=message)]

    def begin(self, index: int, planned: PlannedPart) -> list[bytes]:
        self._index = index
        part = planned.part
        self._thinks = False
        if isinstance(part, CallPart):
            block: dict[str, Any] = {"type": "tool_use", "id": planned.call_id, "name": part.tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": GAP}
        elif isinstance(part, Say):
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": GAP}
        else:
            self._thinks = True
            block = {"type": "thinking", "thinking": "", "signature": ""}
            delta = {"type": "thinking_delta", "thinking": GAP}
        self.piece = Template(self._delta(delta)).filled
        return [_event("content_block_start", index=index, content_block=block)]

    def end(self, text: Callable[[], str]) -> list[bytes]:  # noqa: ARG002 - the end does not repeat the text
        stop = _event("content_block_stop", index=self._index)
        signature = {"type": "signature_delta", "signature": _SIGNATURE}
        return [self._delta(signature), stop] if self._thinks else [stop]

    def closing(self) -> list[bytes]:
        delta = {"stop_reason": _STOP[self._answer.finish], "stop_sequence": None}
        usage = {"output_tokens": self._answer.usage.output}
        return [_event("message_delta", delta=delta, usage=usage), _event("message_stop")]

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _event("content_block_delta", index=self._index, delta=delta)


def _event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _block(planned: PlannedPart, text: str) -> str:
    part = planned.part
    if isinstance(part, CallPart):
        head = packed({"type": "tool_use", "id": planned.call_id, "name": part.tool})
        return f'{head[:-1]},"input":{text}}}'
    if isinstance(part, Say):
        return packed({"type": "text", "text": text})
    return packed({"type": "thinking", "thinking": text, "signature": _SIGNATURE})


def _message_head(answer: Answer) -> dict[str, Any]:
    head = {"id": f"msg_{answer.number}", "type": "message", "role": "assistant", "model": answer.model}
    return {**head, "stop_sequence": None}


def _usage(usage: Usage) -> dict[str, Any]:
    """Anthropic counts cached input apart, and has no word for reasoning tokens."""
    return {
        "input_tokens": usage.input - usage.cached,
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage.output,
    }


def _messages(message: Mapping[str, Any]) -> Iterator[Message]:
    """Split a message: tool results come inside of user messages here."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    if message["role"] == "assistant":
        calls = [Call(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]
        yield Message("assistant", text, tuple(calls))
        return
    results = [block for block in blocks if block["type"] == "tool_result"]
    if results:
        yield Message(
            "tool", results=tuple(Result(block["tool_use_id"], text_of(block.get("content"))) for block in results)
        )
    if text or not results:
        yield Message("user", text)
