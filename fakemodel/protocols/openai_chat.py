"""OpenAI chat completions, and the form of it that wants a tool call in one piece (xai, mistral)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemodel.protocols.base import GAP, Template, event, packed, parsed
from fakemodel.protocols.openai import OpenAI
from fakemodel.request import Call, Message, Request, Result
from fakemodel.script import Call as CallPart
from fakemodel.script import Say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fakemodel.protocols.base import Answer, PlannedPart
    from fakemodel.script import Usage

__all__ = ["OpenAIChat"]

_FINISH = {"unknown": "something_new", "none": None}


class OpenAIChat(OpenAI):
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
        system = [text_of(message["content"]) for message in messages if message["role"] in ("system", "developer")]
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
                call = _call_delta(planned, text)
                message.setdefault("tool_calls", []).append(call)
            else:
                key = _text_key(planned)
                message[key] = (message.get(key) or "") + text
        choice = {"index": 0, "message": message, "finish_reason": _FINISH.get(answer.finish, answer.finish)}
        body = {**_head(answer, "chat.completion"), "choices": [choice], "usage": _usage(answer.usage)}
        return packed(body).encode()


class _Writer:
    """Writes one stream; everything around a piece of text is made ready once a part."""

    def __init__(self, answer: Answer, *, whole_calls: bool) -> None:
        self._answer = answer
        self._whole_calls = whole_calls
        self._calls = 0
        self._head = _head(answer, "chat.completion.chunk")
        self.piece: Callable[[str], bytes] = str.encode

    def _chunk(self, delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        return event({**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more})

    def opening(self) -> list[bytes]:
        return [self._chunk({"role": "assistant", "content": ""})]

    def begin(self, index: int, planned: PlannedPart) -> list[bytes]:  # noqa: ARG002 - only calls have an index here
        if not isinstance(planned.part, CallPart):
            self.piece = Template(self._chunk({_text_key(planned): GAP})).filled
            return []
        number, self._calls = self._calls, self._calls + 1
        if self._whole_calls:
            self.piece = Template(self._chunk({"tool_calls": [{"index": number, **_call_delta(planned, GAP)}]})).filled
            return []
        self.piece = Template(self._chunk({"tool_calls": [{"index": number, "function": {"arguments": GAP}}]})).filled
        return [self._chunk({"tool_calls": [{"index": number, **_call_delta(planned, "")}]})]

    def end(self, text: Callable[[], str]) -> list[bytes]:  # noqa: ARG002 - nothing ends a part here
        return []

    def closing(self) -> list[bytes]:
        finish = _FINISH.get(self._answer.finish, self._answer.finish)
        usage = {"usage": _usage(self._answer.usage)}
        if self._whole_calls:
            # mistral reads the first choice of every chunk, so that usage cannot have a chunk without one.
            return [self._chunk({}, finish, **usage), event("[DONE]")]
        return [self._chunk({}, finish), event({**self._head, "choices": [], **usage}), event("[DONE]")]


def _text_key(planned: PlannedPart) -> str:
    return "content" if isinstance(planned.part, Say) else "reasoning_content"


def _call_delta(planned: PlannedPart, arguments: str) -> dict[str, Any]:
    name = planned.part.tool if isinstance(planned.part, CallPart) else ""
    return {"id": planned.call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


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


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or a list of blocks of which some hold text."""
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or ())


def _message(message: Mapping[str, Any]) -> Message:
    text = text_of(message.get("content"))
    if message["role"] == "tool":
        return Message("tool", results=(Result(message["tool_call_id"], text),))
    if message["role"] == "user":
        return Message("user", text)
    return Message("assistant", text, tuple(_call(call) for call in message.get("tool_calls") or ()))


def _call(call: Mapping[str, Any]) -> Call:
    function = call["function"]
    return Call(call["id"], function["name"], parsed(function["arguments"]))
