"""Builds records by hand, in the shapes that the harness records (sessions are main, child and other)."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from harness.timeline import Entry, Lane, Record, Source

INFINITY = {"name": "infinity", "marker": "[ANTI-LOOP]", "path": "guard", "process": False}
NAMELESS = {"name": "mine", "marker": None, "path": "../mine", "process": False}
BLOCK = "[ANTI-LOOP] This is the third identical call."
SESSIONS = {"ses_main": "main", "ses_child": "child", "ses_other": "other"}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Story:
    """One run, told entry by entry; every entry comes 10 ms after the one before unless `at` says when."""

    def __init__(self, *guards: dict[str, Any], **facts: Any) -> None:
        self.entries: list[Entry] = []
        self.facts: dict[str, Any] = {"guards": list(guards), **facts}
        self.counts: dict[str, int] = {}
        self.ids = 0
        self.turn: dict[str, str] = {}
        self.numbers = 0

    def identity(self, prefix: str) -> str:
        self.ids += 1
        return f"{prefix}_{self.ids}"

    def add(
        self,
        lane: Lane,
        kind: str,
        source: Source,
        session: str | None = "main",
        *,
        at: float | None = None,
        error: float = 0.0,
        **data: Any,
    ) -> Entry:
        when = at if at is not None else (self.entries[-1].at + 0.01 if self.entries else 100.0)
        self.counts[source] = self.counts.get(source, 0) + 1
        identity = f"ses_{session}" if session else None
        entry = Entry(len(self.entries) + 1, when, lane, kind, source, self.counts[source], identity, data, error)
        self.entries.append(entry)
        return entry

    def event(self, kind: str, session: str | None = "main", **data: Any) -> Entry:
        return self.add("opencode", kind, "events", session, **data)

    def probe(self, kind: str, session: str | None = "main", lane: Lane = "opencode", **data: Any) -> Entry:
        return self.add(lane, kind, "probe", session, **data)

    def prompt(self, text: str = "Go.", session: str = "main") -> Entry:
        entry = self.add("user", "prompt", "runner", session, step=1, text=text)
        self.user_message(text, session)
        return entry

    def user_message(self, text: str, session: str = "main", *, synthetic: bool = False) -> str:
        message = self.identity("msg")
        self.probe(
            "message.user", session, message=message, synthetic=synthetic, metadata=[None], text=text, agent="build"
        )
        self.event("message.updated", session, info={"id": message, "role": "user"})
        self.turn.pop(session, None)
        return message

    def assistant(self, session: str = "main", **info: Any) -> str:
        """Begin a message of the assistant."""
        message = self.turn[session] = self.identity("msg")
        self.event("message.updated", session, info={"id": message, "role": "assistant", **info})
        return message

    def part(self, session: str, **part: Any) -> Entry:
        message = self.turn.get(session) or self.assistant(session)
        return self.event("message.part.updated", session, part={"messageID": message, **part})

    def say(self, text: str, session: str = "main") -> Entry:
        part = self.identity("prt")
        self.part(session, id=part, type="text", text="")
        return self.part(session, id=part, type="text", text=text)

    def call(
        self,
        tool: str,
        session: str = "main",
        *,
        fate: str = "completed",
        text: str = "ok",
        seen: bool = True,
        disk: tuple[str | None, str | None] = (None, None),
        **arguments: Any,
    ) -> str:
        """Emit a tool call. `fate` completed or error; `seen`: its witnesses saw it; `disk` hashes before and after."""
        call, part = self.identity("call"), self.identity("prt")
        state: dict[str, Any] = {"status": "pending", "input": {}}
        self.part(session, id=part, type="tool", tool=tool, callID=call, state=state)
        self.probe("hook.before", session, call=call, tool=tool, disk=disk[0])
        self.part(
            session, id=part, type="tool", tool=tool, callID=call, state={"status": "running", "input": arguments}
        )
        if seen and tool == "bash":
            self.add("opencode", "shell", "shell", None, folder="/w", command=arguments["command"], call=call, time=1.0)
        if seen and fate == "completed":
            self.probe("hook.after", session, call=call, tool=tool, disk=disk[1])
        last = {"status": fate, "input": arguments, "error" if fate == "error" else "output": text}
        self.part(session, id=part, type="tool", tool=tool, callID=call, state=last)
        return call

    def block(self, tool: str, session: str = "main", *, text: str = BLOCK, **arguments: Any) -> str:
        return self.call(tool, session, fate="error", text=text, seen=False, **arguments)

    def request(self, session: str = "main", *results: tuple[str, str], reply: int | None = 1, **data: Any) -> int:
        """The fake model gets a request, with these results (call id, text)."""
        self.numbers += 1
        held = [{"call_id": call, "text": text} for call, text in results]
        said = {
            "last_role": "tool" if held else "user",
            "last_text": held[-1]["text"] if held else "Go.",
            "results": held,
        }
        common = {"number": self.numbers, "session": session, "kind": "main", "reply": reply, "use": 1}
        self.tell("exchange.received", session, {**common, **said, **data})
        return self.numbers

    def close(self, number: int, session: str = "main", by: str = "script", **data: Any) -> Entry:
        received = next(e for e in self.entries if e.kind == "exchange.received" and e.data["number"] == number)
        common = {key: received.data[key] for key in ("number", "session", "kind", "reply", "use")}
        end = {"status": 200, "ended_by": by, "chunks_sent": 9, "chunks_scripted": 9, "repeats": 0, "ms": 90.0}
        return self.tell("exchange.closed", session, {**common, **end, **data})

    def tell(self, kind: str, session: str, data: dict[str, Any]) -> Entry:
        entry = self.add("model", kind, "fake", session)
        self.entries[-1] = replace(entry, data=data)
        return self.entries[-1]

    def move(self, entry: Entry, at: float, *, error: float = 0.0) -> None:
        """Say that an entry happened at another time; its reporter's own count stays."""
        self.entries[entry.seq - 1] = replace(entry, at=at, error=error)

    def record(self) -> Record:
        start = next((e.at for e in self.entries if e.kind == "prompt"), 100.0)
        return Record(tuple(self.entries), SESSIONS, start, self.facts)
