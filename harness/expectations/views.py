"""Pure readings of a record: tool calls joined from their parts, and the texts that the assistant wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.timeline import Entry, Record

__all__ = ["Emission", "Text", "emissions", "matching", "same", "texts"]

NUMBERED = ("text", "reasoning", "tool")


@dataclass(frozen=True, slots=True)
class Emission:
    """One tool call that the model emitted, joined from the updates of its part (opencode-facts.md C).

    Fields: `session` its name in the scenario; `message`, `part`, `call` OpenCode's ids; `tool`; `input` the
    arguments as last seen; `status` pending, running, completed or error; `error` and `output` the text of that
    state, else empty; `first` and `last` the positions of its first and last entry.
    """

    session: str | None
    message: str
    part: str
    call: str
    tool: str
    input: Mapping[str, Any]
    status: str
    error: str
    output: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Text:
    """One text part of the assistant, as last seen.

    Fields: `session` its name in the scenario; `message` the number of its message in the session, users' messages
    counted too, from 1; `part` its number among the text, reasoning and tool parts of that message, from 1; `text`;
    `last` the position of its last entry.
    """

    session: str | None
    message: int
    part: int
    text: str
    last: int

    @property
    def where(self) -> str:
        """Its place, in words."""
        return f"session {self.session}, message {self.message}, part {self.part}"


def emissions(record: Record) -> list[Emission]:
    """Every tool call of the run, in order of first appearance."""
    found: dict[str, Emission] = {}
    for entry in record.of("message.part.updated"):
        part = _part(entry)
        if part.get("type") != "tool":
            continue
        seen = _emission(record.name(entry.session), part, entry.seq)
        earlier = found.get(seen.part)
        found[seen.part] = replace(seen, first=earlier.first) if earlier else seen
    return list(found.values())


def _part(entry: Entry) -> Mapping[str, Any]:
    part = entry.data.get("part")
    return part if isinstance(part, Mapping) else {}


def _emission(session: str | None, part: Mapping[str, Any], seq: int) -> Emission:
    state = part.get("state") or {}
    return Emission(
        session=session,
        message=str(part.get("messageID", "")),
        part=str(part.get("id") or part.get("callID", "")),
        call=str(part.get("callID", "")),
        tool=str(part.get("tool", "")),
        input=state.get("input") or {},
        status=str(state.get("status", "")),
        error=str(state.get("error") or ""),
        output=str(state.get("output") or ""),
        first=seq,
        last=seq,
    )


def matching(
    calls: Iterable[Emission], tool: str | None, wanted: Mapping[str, Any] | None, session: str | None
) -> list[Emission]:
    """Choose the calls of this tool and session whose arguments hold every wanted key with an equal value."""
    return [
        call
        for call in calls
        if (tool is None or call.tool == tool)
        and (session is None or call.session == session)
        and all(key in call.input and same(call.input[key], value) for key, value in (wanted or {}).items())
    ]


def same(left: object, right: object) -> bool:
    """Whether two JSON values are equal; unlike in Python, `true` is not 1, and key order never matters."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def texts(record: Record) -> list[Text]:
    """Every text part of the assistant that is not empty, in order of first appearance.

    Summaries of a compaction are left out: they are written for the model, not for the user.
    """
    messages, skipped = _messages(record)
    parts: dict[tuple[str, str], int] = {}
    counts: dict[str, int] = {}
    found: dict[str, Text] = {}
    for entry in record.of("message.part.updated"):
        part = _part(entry)
        message, identity = str(part.get("messageID", "")), str(part.get("id", ""))
        if part.get("type") not in NUMBERED or message not in messages or message in skipped:
            continue
        if (message, identity) not in parts:
            parts[message, identity] = counts[message] = counts.get(message, 0) + 1
        if part["type"] == "text":
            place = (record.name(entry.session), messages[message], parts[message, identity])
            found[identity] = Text(*place, str(part.get("text") or ""), entry.seq)
    return [text for text in found.values() if text.text]


def _messages(record: Record) -> tuple[Mapping[str, int], frozenset[str]]:
    """Message id -> its number in its session, and the messages that are not the assistant's own words."""
    numbers: dict[str, int] = {}
    counts: dict[str | None, int] = {}
    skipped = set()
    for entry in record.of("message.updated"):
        info = entry.data.get("info") or {}
        identity = str(info.get("id", ""))
        if identity not in numbers:
            numbers[identity] = counts[entry.session] = counts.get(entry.session, 0) + 1
        if info.get("role") != "assistant" or info.get("summary") is True:
            skipped.add(identity)
    return numbers, frozenset(skipped)
