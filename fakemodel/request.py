"""A request to the model, the same for every protocol."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Call", "Message", "Request", "Result"]

_SECRET_HEADERS = frozenset(
    {"authorization", "api-key", "x-api-key", "x-goog-api-key", "cookie", "proxy-authorization"}
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call in the history: its id, the tool's name, the arguments (an object; text when it is not JSON)."""

    id: str
    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Result:
    """A tool result in the history: the id of its call and its text."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the history. Results have the role ``tool``, whatever the protocol calls them."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked for.

    ``headers`` have lower-case names, secrets in them are replaced by ``(redacted)``; ``body`` is the
    JSON as it came; ``tools`` are the names of the tools whose schemas the request holds.
    """

    model: str
    stream: bool
    system: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tail(self) -> tuple[Message, ...]:
        """The messages after the last one of the model: what is new in this request."""
        count = 0
        for message in reversed(self.messages):
            if message.role == "assistant":
                break
            count += 1
        return self.messages[len(self.messages) - count :]

    @property
    def user_text(self) -> str:
        """The text of the last user message, or nothing."""
        return next((message.text for message in reversed(self.messages) if message.role == "user"), "")

    @property
    def results(self) -> tuple[Result, ...]:
        """Every tool result of the request, oldest first."""
        return tuple(result for message in self.messages for result in message.results)

    @property
    def last_role(self) -> str:
        """The role of the last message, or ``nobody``."""
        return self.messages[-1].role if self.messages else "nobody"


def redacted(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with the values of secrets replaced."""
    return {name: "(redacted)" if name in _SECRET_HEADERS else value for name, value in headers.items()}
