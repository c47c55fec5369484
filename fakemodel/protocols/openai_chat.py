"""OpenAI chat completions, and the form of it that wants a tool call in one piece (xai, mistral)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fakemodel.protocols.base import event, packed
from fakemodel.request import Call, Message, Request, Result
from fakemodel.script import Call as CallPart
from fakemodel.script import Say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fakemodel.protocols.base import Answer, PlannedPart
    from fakemodel.script import Usage

__all__ = ["OpenAIChat"]

_FINISH = {"unknown": "something_new", "none": None}


class OpenAIChat:
    """The chat completions protocol (opencode-facts.md J)."""

    def __init__(self, *, whole_calls: bool = False) -> None:
        self.whole_calls = whole_calls
        self.name = "openai_chat_whole" if whole_calls else "openai_chat"
        self.base_path = "/whole/v1" if whole_calls else "/v1"

    def accepts(self, path: str) -> bool:
        """Accept the usual path and the one of deepinfra."""
        tail = path.removeprefix(self.base_path)
        return path.startswith(self.base_path) and tail in ("/chat/completions", "/openai/chat/completions")

    def read(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Request:  # noqa: ARG002 - the path says nothing here
        """Read the request."""
        messages = body["messages"]
        system = [_text(message["content"]) for message in messages if message["role"] in ("system", "developer")]
        return Request(
            model=body["model"],
            stream=bool(body.get("stream", False)),
            system="\n".join(system),
            messages=tuple(_message(message) for message in messages if message["role"] not in ("system", "developer")),
            tools=tuple(tool["function"]["name"] for tool in body.get("tools") or ()),
            headers=headers,
            body=body,
        )

    def writer(self, answer: Answer) -> _Writer:
        """Write a stream."""
        return _Writer(answer, whole_calls=self.whole_calls)

    def whole(self, answer: Answer, texts: Sequence[str]) -> bytes:
        """Write one body."""
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for planned, text in zip(answer.parts, texts, strict=True):
            if isinstance(planned.part, CallPart):
                function = {"name": planned.part.tool, "arguments": text}
                message.setdefault("tool_calls", []).append({"id": planned.call_id, "type": "function", "function": function})
            else:
                key = "content" if isinstance(planned.part, Say) else "reasoning_content"
                message[key] = (message.get(key) or "") + text
        choice = {"index": 0, "message": message, "finish_reason": _FINISH.get(answer.finish, answer.finish)}
        body = {**_head(answer, "chat.completion"), "choices": [choice], "usage": _usage(answer.usage)}
        return packed(body).encode()

    def error(self, status: int, message: str) -> bytes:
        """Write an error."""
        return packed({"error": {"message": message, "type": "fake_model", "param": None, "code": status}}).encode()

    def models(self) -> bytes:
        """Write the list of models."""
        model = {"id": "fake", "object": "model", "created": 0, "owned_by": "fakemodel"}
        return packed({"object": "list", "data": [model]}).encode()


class _Writer:
    """Writes one stream; everything around a piece of text is made ready once a part."""

    def __init__(self, answer: Answer, *, whole_calls: bool) -> None:
        self._answer = answer
        self._whole_calls = whole_calls
        self._calls = 0
        self._before = self._after = ""
        self._head = packed(_head(answer, "chat.completion.chunk"))[:-1]

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return event(f'{self._head},"choices":{packed([{"index": 0, "delta": delta, "finish_reason": finish}])}}}')

    def opening(self) -> list[bytes]:
        return [self._chunk({"role": "assistant", "content": ""})]

    def begin(self, index: int, part: PlannedPart) -> list[bytes]:  # noqa: ARG002 - a part has no index here
        if isinstance(part.part, CallPart):
            return self._begin_call(part.part, part.call_id)
        self._frame({"content" if isinstance(part.part, Say) else "reasoning_content": "\0"})
        return []

    def _begin_call(self, call: CallPart, call_id: str) -> list[bytes]:
        index, self._calls = self._calls, self._calls + 1
        named = {"index": index, "id": call_id, "type": "function", "function": {"name": call.tool, "arguments": ""}}
        if self._whole_calls:
            named["function"] = {"name": call.tool, "arguments": "\0"}
            self._frame({"tool_calls": [named]})
            return []
        self._frame({"tool_calls": [{"index": index, "function": {"arguments": "\0"}}]})
        return [self._chunk({"tool_calls": [named]})]

    def _frame(self, delta: dict[str, Any]) -> None:
        before, _, after = self._chunk(delta).decode().partition(json.dumps("\0"))
        self._before, self._after = before, after

    def piece(self, text: str) -> bytes:
        return f"{self._before}{packed(text)}{self._after}".encode()

    def end(self) -> list[bytes]:
        return []

    def closing(self) -> list[bytes]:
        finish = _FINISH.get(self._answer.finish, self._answer.finish)
        usage = event(f'{self._head},"choices":[],"usage":{packed(_usage(self._answer.usage))}}}')
        return [self._chunk({}, finish), usage, event("[DONE]")]


def _head(answer: Answer, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{answer.number}", "object": kind, "created": 0, "model": answer.model}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or ())


def _message(message: Mapping[str, Any]) -> Message:
    text = _text(message.get("content"))
    if message["role"] == "tool":
        return Message("tool", results=(Result(message["tool_call_id"], text),))
    if message["role"] == "user":
        return Message("user", text)
    return Message("assistant", text, tuple(_call(call) for call in message.get("tool_calls") or ()))


def _call(call: Mapping[str, Any]) -> Call:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except ValueError:
        arguments = function["arguments"]
    return Call(call["id"], function["name"], arguments)
