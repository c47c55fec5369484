"""OpenAI Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemodel.protocols.base import GAP, Template, event, packed, parsed
from fakemodel.protocols.openai import OpenAI
from fakemodel.protocols.openai_chat import text_of
from fakemodel.request import Call, Message, Request, Result
from fakemodel.script import Call as CallPart
from fakemodel.script import Say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fakemodel.protocols.base import Answer, PlannedPart
    from fakemodel.script import Usage

__all__ = ["OpenAIResponses"]

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter", "unknown": "something_new"}


class OpenAIResponses(OpenAI):
    """The Responses protocol (opencode-facts.md J). A finish reason ``none`` leaves out the closing event."""

    name = "openai_responses"
    base_path = "/v1"
    whole_calls = False

    def accepts(self, path: str) -> bool:
        """Accept the one path."""
        return path == "/v1/responses"

    def read(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Request:  # noqa: ARG002 - the path says nothing here
        """Read the request."""
        items = body["input"]
        items = [{"role": "user", "content": items}] if isinstance(items, str) else items
        system = [body.get("instructions") or ""]
        system += [text_of(item["content"]) for item in items if item.get("role") in ("system", "developer")]
        messages = [_message(item) for item in items if item.get("role") not in ("system", "developer")]
        return Request(
            model=body["model"],
            stream=bool(body.get("stream", False)),
            system="\n".join(text for text in system if text),
            messages=_joined([message for message in messages if message is not None]),
            tools=tuple(tool["name"] for tool in body.get("tools") or () if tool["type"] == "function"),
            headers=headers,
            body=body,
        )

    def writer(self, answer: Answer) -> _Writer:
        """Write a stream."""
        return _Writer(answer)

    def whole(self, answer: Answer, texts: Sequence[str]) -> bytes:
        """Write one body."""
        pairs = enumerate(zip(answer.parts, texts, strict=True))
        items = [_item(_item_id(answer, index), planned, text, done=True) for index, (planned, text) in pairs]
        return packed(_response(answer, items, done=True)).encode()


class _Writer:
    """Writes one stream: every part is an output item with its own events around its text."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._items: list[dict[str, Any]] = []
        self._planned: PlannedPart | None = None
        self._place: dict[str, Any] = {}
        self._index: dict[str, Any] = {}
        self.piece: Callable[[str], bytes] = str.encode

    def opening(self) -> list[bytes]:
        response = _response(self._answer, [], done=False)
        return [_event("response.created", response=response), _event("response.in_progress", response=response)]

    def begin(self, index: int, planned: PlannedPart) -> list[bytes]:
        self._planned = planned
        item = _item(_item_id(self._answer, index), planned, "", done=False)
        self._place = {"output_index": index}
        added = _event("response.output_item.added", **self._place, item=item)
        self._index = {"item_id": item["id"], **self._place}
        if isinstance(planned.part, CallPart):
            self.piece = Template(_event("response.function_call_arguments.delta", **self._index, delta=GAP)).filled
            return [added]
        said = isinstance(planned.part, Say)
        self._index |= {"content_index": 0} if said else {"summary_index": 0}
        self.piece = Template(
            _event(f"{_prefix(said=said)}text.delta", **self._index, delta=GAP, **_logprobs(said=said))
        ).filled
        return [
            added,
            _event(f"{_prefix(said=said, part=True)}part.added", **self._index, part=_text_part("", said=said)),
        ]

    def end(self, text: Callable[[], str]) -> list[bytes]:
        planned = self._planned
        if planned is None:
            return []
        full = text()
        item = _item(self._index["item_id"], planned, full, done=True)
        self._items.append(item)
        done = _event("response.output_item.done", **self._place, item=item)
        if isinstance(planned.part, CallPart):
            name = {"name": planned.part.tool}
            return [_event("response.function_call_arguments.done", **self._index, **name, arguments=full), done]
        said = isinstance(planned.part, Say)
        return [
            _event(f"{_prefix(said=said)}text.done", **self._index, text=full, **_logprobs(said=said)),
            _event(f"{_prefix(said=said, part=True)}part.done", **self._index, part=_text_part(full, said=said)),
            done,
        ]

    def closing(self) -> list[bytes]:
        if self._answer.finish == "none":
            return []
        kind = "incomplete" if self._answer.finish in _INCOMPLETE else "completed"
        return [_event(f"response.{kind}", response=_response(self._answer, self._items, done=True))]


def _event(kind: str, **fields: Any) -> bytes:
    # The sequence number is the same everywhere: no client looks at it, and a template could not count.
    return event({"type": kind, "sequence_number": 0, **fields}, kind)


def _prefix(*, said: bool, part: bool = False) -> str:
    if said:
        return "response.content_" if part else "response.output_"
    return "response.reasoning_summary_"


def _logprobs(*, said: bool) -> dict[str, Any]:
    return {"logprobs": []} if said else {}


def _text_part(text: str, *, said: bool) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": []} if said else {"type": "summary_text", "text": text}


def _item_id(answer: Answer, index: int) -> str:
    return f"item_{answer.number}_{index}"


def _item(item_id: str, planned: PlannedPart, text: str, *, done: bool) -> dict[str, Any]:
    part = planned.part
    status = "completed" if done else "in_progress"
    if isinstance(part, CallPart):
        call = {"type": "function_call", "call_id": planned.call_id, "name": part.tool, "arguments": text}
        return {"id": item_id, **call, "status": status}
    said = isinstance(part, Say)
    content = [_text_part(text, said=said)] if done else []
    if said:
        return {"id": item_id, "type": "message", "role": "assistant", "status": status, "content": content}
    return {"id": item_id, "type": "reasoning", "summary": content}


def _response(answer: Answer, items: list[dict[str, Any]], *, done: bool) -> dict[str, Any]:
    reason = _INCOMPLETE.get(answer.finish) if done else None
    return {
        "id": f"resp_{answer.number}",
        "object": "response",
        "created_at": 0,
        "model": answer.model,
        "status": "in_progress" if not done else "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": None,
        "metadata": {},
        "output": items,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": _usage(answer.usage) if done else None,
    }


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }


def _message(item: Mapping[str, Any]) -> Message | None:
    kind = item.get("type", "message")
    if kind == "function_call":
        return Message("assistant", calls=(Call(item["call_id"], item["name"], parsed(item["arguments"])),))
    if kind == "function_call_output":
        return Message("tool", results=(Result(item["call_id"], text_of(item["output"])),))
    if kind != "message":
        return None
    return Message("user" if item["role"] == "user" else "assistant", text_of(item["content"]))


def _joined(messages: list[Message]) -> tuple[Message, ...]:
    """Make one message of the items that one answer of the model came back as."""
    joined: list[Message] = []
    for message in messages:
        if joined and message.role == joined[-1].role == "assistant":
            before = joined.pop()
            joined.append(Message("assistant", before.text + message.text, before.calls + message.calls))
        else:
            joined.append(message)
    return tuple(joined)
