"""One stage: a script that is played to one set of sessions, with a journal and gates of its own."""

from __future__ import annotations

import secrets
import threading
import time
from typing import TYPE_CHECKING, Any

from fakemodel.exchange import Event
from fakemodel.integrity import flaws
from fakemodel.journal import Journal
from fakemodel.live import LiveExchange
from fakemodel.matching import Choice, Miss, SessionProgress
from fakemodel.protocols import protocols
from fakemodel.protocols.base import Answer, PlannedPart
from fakemodel.routing import Router, kind_of, parent_of, session_of
from fakemodel.script import Call, Prose, Reply, Say

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from fakemodel.connection import Connection
    from fakemodel.exchange import EventKind, Exchange, UnusedReply
    from fakemodel.protocols.base import WireProtocol
    from fakemodel.request import Request
    from fakemodel.script import Script

__all__ = ["MARKERS", "Stage", "StageError"]

MARKERS = ("[ANTI-LOOP]", "[ANTI-LOOP STREAM]", "[DOOM-LOOP]", "[DETECTOR ")
"""The texts by which the known guards speak to the model (DESIGN.md, marker)."""

CLOSE_SECONDS = 5.0


class StageError(Exception):
    """A stage was used in a way that cannot work; the message says how to do it."""


class Stage:
    """One generation of requests, reached under a token of its own; several can be open in one server.

    Made by ``FakeModel.open``. Every method may be called from any thread.
    """

    def __init__(
        self,
        script: Script,
        address: str,
        loop: asyncio.AbstractEventLoop,
        listener: Callable[[Event], None] | None,
        markers: Sequence[str],
    ) -> None:
        self.script = script
        self.token = secrets.token_hex(8)
        self.journal = Journal()
        self.closed = False
        self.killed = False
        self._address = address
        self._loop = loop
        self._listener = listener
        self._markers = tuple(markers)
        self._router = Router(script)
        self._lock = threading.Lock()
        self._idle = threading.Condition()
        self._open: dict[int, LiveExchange] = {}
        self._unscripted: list[Exchange] = []
        self._gates: dict[str, list[asyncio.Event]] = {}
        self._released_early: set[str] = set()
        self._count = 0
        self._calls = 0

    def base_url(self, protocol: str = "openai_chat") -> str:
        """Return the base URL to put into a client's configuration for this protocol."""
        known = protocols()
        if protocol not in known:
            raise StageError(f"unknown protocol {protocol!r}; known: {', '.join(known)}")
        return f"{self._address}/{self.token}{known[protocol].base_path}"

    def bind(self, session_id: str, name: str) -> None:
        """Say that the session of OpenCode with this id plays the script of this name."""
        with self._lock:
            self._router.bind(session_id, name)

    @property
    def open_exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges that have not ended, as they stand now."""
        return tuple(live.snapshot() for live in list(self._open.values()))

    @property
    def unscripted(self) -> tuple[Exchange, ...]:
        """The exchanges that no reply was there for."""
        return tuple(self._unscripted)

    def unused(self) -> tuple[UnusedReply, ...]:
        """Return the required replies that have uses left."""
        with self._lock:
            return tuple(self._router.unused())

    def waiting_gates(self) -> tuple[str, ...]:
        """Return the names of the gates at which a stream waits now."""
        return tuple(sorted(name for name, waiting in self._gates.items() if waiting))

    def release(self, gate: str) -> None:
        """Let the streams that wait at a gate go on; when none waits, the next that comes is not held.

        Raises StageError when no reply has such a gate.
        """
        known = {reply.gate.name for reply in self._replies() if reply.gate}
        if gate not in known:
            raise StageError(f"no reply has a gate {gate!r}; gates of this script: {', '.join(sorted(known)) or 'none'}")
        self._loop.call_soon_threadsafe(self._release, gate)

    def mark_killed(self) -> None:
        """Say that the client is being killed: a connection that it leaves from now on ended by ``killed``."""
        self.killed = True

    def mark_started(self) -> None:
        """Say that a client runs again: a connection that it leaves from now on ended by ``client``."""
        self.killed = False

    def close(self) -> None:
        """End the stage: open streams end by ``shutdown``, later requests get 410 and count nowhere."""
        if self.closed:
            return
        self.closed = True
        self._loop.call_soon_threadsafe(self._stop_streams)
        with self._idle:
            if not self._idle.wait_for(lambda: not self._open, CLOSE_SECONDS):
                numbers = ", ".join(f"#{number}" for number in self._open)
                raise StageError(f"streams did not end within {CLOSE_SECONDS:g} s after the stage was closed: {numbers}")

    # From here on: the server's side, on its loop.

    def begin(self, request: Request, protocol: WireProtocol, connection: Connection) -> LiveExchange:
        """Take in a request: find its reply, record it, and say so. Without a reply the exchange has a ``reason``."""
        self._count += 1
        with self._lock:
            found = self._choose(request)
            name = self._router.name_of(session_of(request))
        live = LiveExchange(self, self._count, name, request, protocol, connection)
        if isinstance(found, Miss):
            live.reason = found.reason
        else:
            self._cast(live, found)
        self._open[live.number] = live
        reply = live.reply
        self.say("received", live, elapsed=reply.elapsed if reply else 0.0, name=reply.name if reply else None)
        for flaw in flaws(request, reply) if live.kind in ("main", "child") else ():
            self.say("invalid", live, reason=flaw)
        if live.reason is not None:
            self._unscripted.append(live.snapshot())
            self.say("unscripted", live, reason=live.reason)
        return live

    def _choose(self, request: Request) -> tuple[SessionProgress, Choice] | Reply | Miss:
        kind = kind_of(request)
        if kind in ("title", "compaction"):
            text = self.script.title if kind == "title" else self.script.compaction
            return Reply((Say(Prose((text,))),), pace=0)
        session = self._router.find(request)
        if isinstance(session, Miss):
            return session
        choice = session.choose(request, self._markers)
        if isinstance(choice, Miss):
            session.past = None
            return choice
        return session, choice

    def _cast(self, live: LiveExchange, found: tuple[SessionProgress, Choice] | Reply) -> None:
        """Give the exchange its reply, with ids for the calls."""
        if isinstance(found, Reply):
            live.reply, live.use = found, None
        else:
            session, choice = found
            session.past = live
            live.reply, live.use, live.position = choice.progress.reply, choice.use, choice.progress.position
            live.attempt = choice.attempt
        parts = []
        for part in live.reply.parts_for(live.use or 1):
            call_id = self._call_id() if isinstance(part, Call) else ""
            parts.append(PlannedPart(part, call_id))
            if call_id and not isinstance(found, Reply):
                found[1].progress.call_ids.add(call_id)
        live.answer = Answer(live.number, live.request.model, tuple(parts), live.reply.finish_reason, live.reply.usage)

    def _call_id(self) -> str:
        # Nine letters and digits: OpenCode cuts the ids of some providers (mistral) to this form.
        self._calls += 1
        return f"call{self._calls:05d}"

    def say(self, kind: EventKind, live: LiveExchange, **detail: Any) -> None:
        """Put the exchange's state into the journal and tell the listener."""
        snapshot = live.snapshot()
        self.journal.put(snapshot)
        if self._listener is not None:
            self._listener(Event(kind, time.monotonic(), snapshot, detail))

    def end(self, live: LiveExchange) -> None:
        """Note that an exchange has ended."""
        self.say("closed", live)
        with self._idle:
            self._open.pop(live.number, None)
            self._idle.notify_all()

    async def hold(self, live: LiveExchange, gate: str) -> None:
        """Keep a stream at a gate until it is released or the stream is stopped."""
        self.say("gate", live, gate=gate)
        if gate in self._released_early:
            self._released_early.discard(gate)
        else:
            await self._wait_at(live, gate)
        if live.connection.stopped is None:
            self.say("released", live, gate=gate)

    async def _wait_at(self, live: LiveExchange, gate: str) -> None:
        released = live.new_event()
        waiting = self._gates.setdefault(gate, [])
        waiting.append(released)
        try:
            await live.connection.wait_for(released)
        finally:
            waiting.remove(released)

    def _release(self, gate: str) -> None:
        waiting = self._gates.get(gate)
        if not waiting:
            self._released_early.add(gate)
        for event in waiting or ():
            event.set()

    def _stop_streams(self) -> None:
        for live in list(self._open.values()):
            live.connection.stop("shutdown")
        with self._idle:
            self._idle.notify_all()

    def _replies(self) -> list[Reply]:
        scripted = [reply for session in self.script.sessions.values() for reply in session.replies]
        return [*scripted, *self.script.any_time]
