"""One stage: a script that is played to one set of sessions, with a journal and gates of its own."""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fakemodel.exchange import Event
from fakemodel.integrity import flaws
from fakemodel.journal import Journal
from fakemodel.live import LiveExchange
from fakemodel.matching import Choice, Miss
from fakemodel.protocols import protocols
from fakemodel.protocols.base import Answer, PlannedPart
from fakemodel.routing import Router, session_of
from fakemodel.script import Call, Prose, Reply, Say

if TYPE_CHECKING:
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
            left = tuple(self._router.unused())
        return tuple(entry for entry in left if entry.value.name not in self.script.allow_unused)

    def waiting_gates(self) -> tuple[str, ...]:
        """Return the names of the gates at which a stream waits now."""
        return tuple(sorted(name for name, waiting in self._gates.items() if waiting))

    def release(self, gate: str) -> None:
        """Let the streams that wait at a gate go on; when none waits, the next that comes is not held.

        Raises StageError when no reply has such a gate.
        """
        known = {reply.gate.name for reply in self.script.replies if reply.gate}
        if gate not in known:
            raise StageError(
                f"no reply has a gate {gate!r}; gates of this script: {', '.join(sorted(known)) or 'none'}"
            )
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
        with suppress(RuntimeError):  # a loop that has broken down is closed, and its streams with it
            self._loop.call_soon_threadsafe(self._stop_streams)
        with self._idle:
            if not self._idle.wait_for(lambda: not self._open, CLOSE_SECONDS):
                numbers = ", ".join(f"#{number}" for number in self._open)
                raise StageError(
                    f"streams did not end within {CLOSE_SECONDS:g} s after the stage was closed: {numbers}"
                )

    # From here on: the server's side, on its loop.

    def begin(self, request: Request, protocol: WireProtocol, connection: Connection) -> LiveExchange:
        """Take in a request: find its reply, record it, and say so. Without a reply the exchange has a refusal."""
        live = self._new(request, protocol, connection)
        with self._lock:
            self._cast(live, protocol)
            live.session = self._router.name_of(session_of(request))
        return self._begun(live)

    def refuse(
        self, request: Request, protocol: WireProtocol, connection: Connection, status: int, reason: str
    ) -> LiveExchange:
        """Take in a request that cannot be read or that nothing answers."""
        live = self._new(request, protocol, connection)
        live.refusal = (status, reason)
        return self._begun(live)

    def _new(self, request: Request, protocol: WireProtocol, connection: Connection) -> LiveExchange:
        self._count += 1
        return LiveExchange(self, self._count, request, protocol, connection)

    def _begun(self, live: LiveExchange) -> LiveExchange:
        self._open[live.number] = live
        try:
            self._announce(live)
        except BaseException:
            self._open.pop(live.number)
            raise
        return live

    def _announce(self, live: LiveExchange) -> None:
        reply = live.reply
        self.say("received", live, elapsed=reply.elapsed if reply else 0.0, name=reply.name if reply else None)
        for invariant, flaw in flaws(live.request, reply) if live.kind in ("main", "child") and reply else ():
            self.say("invalid", live, invariant=invariant, reason=flaw)
        if live.refusal is not None:
            self._unscripted.append(live.snapshot())
            self.say("unscripted", live, reason=live.refusal[1])

    def _cast(self, live: LiveExchange, protocol: WireProtocol) -> None:
        """Give the exchange the reply that answers it, or the reason why none does."""
        if live.kind in ("title", "compaction"):
            text = self.script.title if live.kind == "title" else self.script.compaction
            self._plan(live, Reply((Say(Prose((text,))),), pace=0), protocol)
            return
        session = self._router.find(live.request)
        found = session if isinstance(session, Miss) else session.choose(live.request, self._markers)
        if isinstance(found, Choice) and not isinstance(session, Miss):
            session.past = live
            self._play(live, found, protocol)
            return
        if not isinstance(session, Miss):
            session.past = None
            if session.name in self.script.allow_extra:
                self._plan(live, Reply((Say(Prose(("Nothing more is scripted.",))),), pace=0), protocol)
                return
        if isinstance(found, Miss):
            live.refusal = (501, found.reason)

    def _play(self, live: LiveExchange, choice: Choice, protocol: WireProtocol) -> None:
        progress = choice.progress
        if progress.reply.endless and not live.request.stream:
            live.refusal = (501, "an endless reply can only be streamed, and this request wants no stream")
            return
        live.position, live.use = progress.position, choice.use
        live.faults = tuple(fault for fault in progress.reply.faults if fault.active(choice.attempt))
        progress.call_ids |= self._plan(live, progress.reply, protocol)

    def _plan(self, live: LiveExchange, reply: Reply, protocol: WireProtocol) -> set[str]:
        """Write down the answer, with ids for the calls, and return these."""
        parts: list[PlannedPart] = []
        ids: list[str] = []
        for part in reply.parts_for(live.use or 1):
            if isinstance(part, Call):
                self._calls += 1
                ids.append(protocol.call_id(live.request, len(ids), self._calls))
                parts.append(PlannedPart(part, ids[-1], json.dumps(part.arguments, ensure_ascii=False)))
            else:
                parts.append(PlannedPart(part))
        live.reply = reply
        live.answer = Answer(live.number, live.request.model, tuple(parts), reply.finish_reason, reply.usage)
        return set(ids)

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
        released = asyncio.Event()
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
