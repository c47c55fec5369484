"""Google generateContent."""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any

from fakemodel.protocols.base import GAP, Template, event, packed
from fakemodel.request import Call, Message, Request, Result
from fakemodel.script import Call as CallPart
from fakemodel.script import Think

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fakemodel.protocols.base import Answer, PlannedPart
    from fakemodel.script import Usage

__all__ = ["GoogleGenerate"]

_FINISH = {
    "stop": "STOP",
    "tool_calls": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "unknown": "SOMETHING_NEW",
    "none": None,
}
_PATH = re.compile(r"/v1(?:beta|alpha)?/models/([^/:]+):(generateContent|streamGenerateContent)")


class GoogleGenerate:
    """The generateContent protocol (opencode-facts.md J); a function call is always one piece."""

    name = "google_generate"
    base_path = "/v1beta"
    whole_calls = True

    def accepts(self, path: str) -> bool:
        """Accept the paths for a whole answer and for a stream."""
        return _PATH.fullmatch(path) is not None

    def read(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Request:
        """Read the request."""
        match = _PATH.fullmatch(path)
        if match is None:
            raise ValueError(f"the path {path} names no model")
        system = body.get("systemInstruction") or body.get("system_instruction") or {}
        declared = [tool.get("functionDeclarations") or () for tool in body.get("tools") or ()]
        return Request(
            model=match[1],
            stream=match[2] == "streamGenerateContent",
            system=_text(system.get("parts", ())),
            messages=_History().read(body["contents"]),
            tools=tuple(function["name"] for group in declared for function in group),
            headers=headers,
            body=body,
        )

    def call_id(self, request: Request, index: int, serial: int) -> str:  # noqa: ARG002 - the wire carries no ids
        """Return the id that the call gets when it comes back: its number in the session's history."""
        return _id(sum(len(message.calls) for message in request.messages) + index + 1)

    def writer(self, answer: Answer) -> _Writer:
        """Write a stream."""
        return _Writer(answer)

    def whole(self, answer: Answer, texts: Sequence[str]) -> bytes:
        """Write one body; arguments go in as they are, which broken ones break."""
        parts = [
            Template(packed(_part(planned)).encode()).raw(_quoted(planned, text)).decode()
            for planned, text in zip(answer.parts, texts, strict=True)
        ]
        candidate = {"content": {"role": "model", "parts": GAP}, **_finish(answer)}
        return Template(packed(_body(answer, candidate, closing=True)).encode()).raw(f"[{','.join(parts)}]")

    def error(self, status: int, message: str) -> bytes:
        """Write an error."""
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
        return packed({"error": {"code": status, "message": message, "status": names.get(status, "INTERNAL")}}).encode()

    def models(self) -> bytes:
        """Write the list of models."""
        return packed({"models": [{"name": "models/fake", "displayName": "fake"}]}).encode()


class _Writer:
    """Writes one stream: every chunk is a candidate with one part."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.piece: Callable[[str], bytes] = str.encode

    def opening(self) -> list[bytes]:
        return []

    def begin(self, index: int, planned: PlannedPart) -> list[bytes]:  # noqa: ARG002 - parts have no index here
        candidate = {"content": {"role": "model", "parts": [_part(planned)]}, "index": 0}
        frame = Template(event(_body(self._answer, candidate, closing=False)))
        self.piece = frame.raw if isinstance(planned.part, CallPart) else frame.filled
        return []

    def end(self, text: Callable[[], str]) -> list[bytes]:  # noqa: ARG002 - nothing ends a part here
        return []

    def closing(self) -> list[bytes]:
        candidate = {"content": {"role": "model", "parts": [{"text": ""}]}, **_finish(self._answer)}
        return [event(_body(self._answer, candidate, closing=True))]


def _part(planned: PlannedPart) -> dict[str, Any]:
    if isinstance(planned.part, CallPart):
        return {"functionCall": {"name": planned.part.tool, "args": GAP}}
    thought = {"thought": True} if isinstance(planned.part, Think) else {}
    return {"text": GAP, **thought}


def _quoted(planned: PlannedPart, text: str) -> str:
    return text if isinstance(planned.part, CallPart) else packed(text)


def _finish(answer: Answer) -> dict[str, Any]:
    reason = _FINISH[answer.finish]
    return {"index": 0} if reason is None else {"finishReason": reason, "index": 0}


def _body(answer: Answer, candidate: dict[str, Any], *, closing: bool) -> dict[str, Any]:
    usage = {"usageMetadata": _usage(answer.usage)} if closing else {}
    return {"candidates": [candidate], **usage, "modelVersion": answer.model, "responseId": f"response-{answer.number}"}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
    }


def _id(number: int) -> str:
    return f"google{number}"


class _History:
    """Gives calls and results ids, which the wire lacks: a result belongs to the first open call of its name."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._open: defaultdict[str, deque[str]] = defaultdict(deque)

    def read(self, contents: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
        """Return the messages."""
        return tuple(message for content in contents for message in self._messages(content))

    def _messages(self, content: Mapping[str, Any]) -> list[Message]:
        parts = content.get("parts", ())
        text = _text(parts)
        if content.get("role") == "model":
            return [
                Message(
                    "assistant",
                    text,
                    tuple(self._call(part["functionCall"]) for part in parts if "functionCall" in part),
                )
            ]
        results = tuple(self._result(part["functionResponse"]) for part in parts if "functionResponse" in part)
        messages = [Message("tool", results=results)] if results else []
        return [*messages, Message("user", text)] if text or not results else messages

    def _call(self, call: Mapping[str, Any]) -> Call:
        call_id = _id(next(self._numbers))
        self._open[call["name"]].append(call_id)
        return Call(call_id, call["name"], call.get("args") or {})

    def _result(self, result: Mapping[str, Any]) -> Result:
        waiting = self._open[result["name"]]
        response = result.get("response") or {}
        text = response.get("content", response.get("output", response.get("result")))
        return Result(
            waiting.popleft() if waiting else f"unknown {result['name']}",
            text if isinstance(text, str) else json.dumps(response, ensure_ascii=False),
        )


def _text(parts: Sequence[Mapping[str, Any]]) -> str:
    return "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
