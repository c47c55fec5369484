"""An exchange while it runs: sends the answer, notes what is sent and when, and finds out who ends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fakemodel.connection import others
from fakemodel.exchange import Exchange
from fakemodel.faults.base import Response, StreamTools
from fakemodel.routing import kind_of, parent_of, session_of
from fakemodel.stream import (
    Cut,
    End,
    Hold,
    Mark,
    Meter,
    Slice,
    Stall,
    chunks,
    count_chunks,
    middle_piece,
    part_text,
    sliced,
    with_gate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.connection import Connection
    from fakemodel.exchange import EndedBy
    from fakemodel.protocols.base import Answer, WireProtocol
    from fakemodel.request import Request
    from fakemodel.script import Reply, ScheduledFault
    from fakemodel.stage import Stage
    from fakemodel.stream import Item

__all__ = ["LiveExchange"]

_STREAM_HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
_JSON_HEADERS = {"content-type": "application/json"}

_SHORTEST_PAUSE = 0.001
"""Seconds; uvloop's timers count in milliseconds, so shorter pauses are saved up."""


class LiveExchange:
    """The mutable side of an Exchange; only the server's thread writes to it.

    ``refusal`` is the status and the reason when no reply answers. Else ``reply`` and ``answer`` are set, and
    ``position`` and ``use`` where they come from a script.
    """

    def __init__(
        self, stage: Stage, number: int, request: Request, protocol: WireProtocol, connection: Connection
    ) -> None:
        self.number = number
        self.request = request
        self.connection = connection
        self.kind = kind_of(request)
        self.session: str | None = None
        self.refusal: tuple[int, str] | None = None
        self.reply: Reply | None = None
        self.answer: Answer | None = None
        self.position: int | None = None
        self.use: int | None = None
        self.faults: tuple[ScheduledFault, ...] = ()
        self.chunks_sent = 0
        self._stage = stage
        self._protocol = protocol
        self._meter = Meter()
        self._received_at = time.monotonic()
        self._first_at: float | None = None
        self._closed_at: float | None = None
        self._status: int | None = None
        self._ended_by: EndedBy | None = None
        self._stop_lag: float | None = None
        self._stalled: float | None = None
        self._scripted: int | None = None

    @property
    def fate(self) -> EndedBy | None:
        """Who ended the exchange, as far as is known by now."""
        return self._ended_by or self._cause()

    @property
    def faulted(self) -> bool:
        """Whether a fault acts on it, or it is refused."""
        return bool(self.faults) or self.refusal is not None

    def _cause(self) -> EndedBy | None:
        self.connection.notice()
        if self.connection.stopped == "gone":
            return "killed" if self._stage.killed else "client"
        return self.connection.stopped

    def snapshot(self) -> Exchange:
        """Return the record as it stands now."""
        return Exchange(
            number=self.number,
            session=self.session,
            session_id=session_of(self.request),
            parent_id=parent_of(self.request),
            kind=self.kind,
            protocol=self._protocol.name,
            reply=self.position,
            use=self.use,
            received_at=self._received_at,
            first_at=self._first_at,
            closed_at=self._closed_at,
            status=self._status,
            ended_by=self._ended_by,
            chunks_sent=self.chunks_sent,
            chunks_scripted=self._scripted,
            part=self._meter.place,
            repeats=self._meter.repeats,
            sentence=self._meter.sentence,
            text_sent=self._meter.text_sent,
            stop_lag=self._stop_lag,
            faults=tuple(fault.name for fault in self.faults),
            stalled=self._stalled,
            request=self.request,
        )

    async def play(self) -> None:
        """Answer the request to its end, whoever ends it."""
        try:
            if self.reply is None or self.answer is None:
                status, reason = self.refusal or (500, "no answer")
                body = self._protocol.error(status, f"fakemodel: UNSCRIPTED request; {reason}")
                await self._respond(Response(status, {**_JSON_HEADERS, "x-should-retry": "false"}, body))
            else:
                await self._answer(self.reply, self.answer)
        finally:
            self._close()

    async def _respond(self, response: Response) -> None:
        """Send a body that stands in for the answer."""
        self._status, self._ended_by = response.status, "fault"
        await self.connection.start(response.status, response.headers)
        await self.connection.finish(response.body or b"")

    async def _answer(self, reply: Reply, answer: Answer) -> None:
        streamed = self.request.stream
        response = Response(200, _STREAM_HEADERS if streamed else _JSON_HEADERS)
        for scheduled in self.faults:
            response = scheduled.fault.response(response, self._protocol)
            answer = scheduled.fault.answer(answer)
        self.answer = answer
        if response.body is not None:
            await self._respond(response)
            return
        tools = StreamTools(self._meter, lambda: middle_piece(self._protocol, answer, reply))
        items = self._streamed(reply, answer, tools) if streamed else self._whole(answer)
        self._status = response.status
        await self.connection.start(response.status, response.headers)
        await self._send(self._dressed(items, reply, tools), reply.pace)
        if self.connection.stopped is None and self._ended_by is None:
            self._ended_by = "script"
            await self.connection.finish()
        self._check_points(reply, tools)

    def _streamed(self, reply: Reply, answer: Answer, tools: StreamTools) -> Iterator[Item]:
        tools.writer = self._protocol.writer(answer)
        return chunks(tools.writer, answer, reply, self._meter, whole_calls=self._protocol.whole_calls)

    def _whole(self, answer: Answer) -> Iterator[Item]:
        body = self._protocol.whole(answer, ["".join(part_text(planned)) for planned in answer.parts])
        return iter((Mark("start"), body, Mark("end")))

    def _dressed(self, items: Iterator[Item], reply: Reply, tools: StreamTools) -> Iterator[Item]:
        """Put delays, gates, faults and the cutting of writes around the chunks."""
        if reply.first_chunk_delay:
            yield Stall(reply.first_chunk_delay, recorded=False)
        if reply.gate is not None:
            items = with_gate(items, reply.gate.name, tools.find(reply.gate.at))
        for scheduled in self.faults:
            items = scheduled.fault.stream(items, tools)
        yield from items if reply.wire is None else sliced(items, reply.wire)

    async def _send(self, items: Iterator[Item], pace: float) -> None:
        """Send the items in time; the loop runs on every chunk, so that a leaving client is seen at once."""
        connection, meter = self.connection, self._meter
        put, flow = connection.put, connection.flow
        debt = 0.0
        for item in items:
            if item.__class__ is bytes:
                if flow.write_paused:
                    await flow.drain()
                if not put(item):
                    return
                self.chunks_sent += 1
                if self.chunks_sent == 1:
                    self._note_first()
                if meter.content:
                    debt += pace
                if debt >= _SHORTEST_PAUSE:
                    await connection.pause(debt)
                    debt = 0.0
                else:
                    await others()
            else:
                await self._act(item, pace)
                if self._ended_by is not None:
                    return
            if connection.stopped is not None:
                return

    async def _act(self, item: Item, pace: float) -> None:
        """Do what stands in the stream and is no chunk."""
        if isinstance(item, Hold):
            await self._stage.hold(self, item.gate)
        elif isinstance(item, Stall):
            await self._stall(item)
        elif isinstance(item, Slice):
            await self._write_slice(item, pace)
        elif isinstance(item, End):
            self._ended_by = "fault"
            await self.connection.finish()
        elif isinstance(item, Cut) and await self.connection.write(item.partial):
            self._ended_by = "fault"
            await self.connection.cut(item.by)

    async def _write_slice(self, item: Slice, pace: float) -> None:
        written = await self.connection.write(item.data)
        if item.last and written:
            self.chunks_sent += 1
            if self.chunks_sent == 1:
                self._note_first()
        await self.connection.pause(pace if item.last and self._meter.content else 0)

    async def _stall(self, item: Stall) -> None:
        begun = time.monotonic()
        await self.connection.pause(item.seconds)
        if item.recorded:
            self._stalled = time.monotonic() - begun

    def _note_first(self) -> None:
        self._first_at = time.monotonic()
        self._stage.say("first_chunk", self)

    def _check_points(self, reply: Reply, tools: StreamTools) -> None:
        """Tell of a gate or fault that the stream never came to: it did nothing, so the script is wrong."""
        if self._ended_by != "script":
            return
        any_time = any(one is reply for one in self._stage.script.any_time) or None
        for index, point in enumerate(tools.points):
            if not point.found:
                gate = reply.gate.name if reply.gate and index == 0 else None  # its point is looked for first
                what = f"gate {gate}" if gate else "a fault"
                reason = f"{what} is at {point.at}, but the answer had only {self.chunks_sent} chunks"
                self._stage.say(
                    "invalid", self, invariant="unreached_point", reason=reason, gate=gate, any_time=any_time
                )

    def _close(self) -> None:
        self._closed_at = time.monotonic()
        if self._ended_by is None and self.connection.stopped is not None:
            self._ended_by = self._cause()
            self._stop_lag = self._closed_at - self.connection.stopped_at
        if self.reply is not None and self.answer is not None:
            streamed = self.request.stream
            self._scripted = count_chunks(self._protocol, self.answer, self.reply) if streamed else 1
        self.connection.close()
        self._stage.end(self)
