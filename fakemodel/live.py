"""An exchange while it runs: finds out what is sent, when, and who ends it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from fakemodel.exchange import Exchange
from fakemodel.routing import kind_of, parent_of, session_of
from fakemodel.stream import Hold, Pause, Position, chunks, count_chunks, whole_text, with_gate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.connection import Connection
    from fakemodel.exchange import EndedBy
    from fakemodel.protocols.base import Answer, WireProtocol
    from fakemodel.request import Request
    from fakemodel.script import Reply
    from fakemodel.stage import Stage
    from fakemodel.stream import Item

__all__ = ["LiveExchange"]

_STREAM_HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
_JSON_HEADERS = {"content-type": "application/json"}


class LiveExchange:
    """The mutable side of an Exchange; only the server's thread writes to it."""

    def __init__(
        self, stage: Stage, number: int, session: str | None, request: Request, protocol: WireProtocol, connection: Connection
    ) -> None:
        self.number = number
        self.request = request
        self.connection = connection
        self.kind = kind_of(request)
        self.reason: str | None = None
        self.reply: Reply | None = None
        self.answer: Answer | None = None
        self.position: int | None = None
        self.use: int | None = None
        self.attempt = 1
        self.chunks_sent = 0
        self._stage = stage
        self._session = session
        self._protocol = protocol
        self._place = Position()
        self._received_at = time.monotonic()
        self._first_at: float | None = None
        self._closed_at: float | None = None
        self._status: int | None = None
        self._ended_by: EndedBy | None = None
        self._stop_lag: float | None = None
        self._scripted: int | None = None

    @property
    def fate(self) -> EndedBy | None:
        """Who ended the exchange, as far as is known by now."""
        return self._ended_by or self._cause()

    def _cause(self) -> EndedBy | None:
        if self.connection.stopped == "gone":
            return "killed" if self._stage.killed else "client"
        return self.connection.stopped

    def snapshot(self) -> Exchange:
        """Return the record as it stands now."""
        return Exchange(
            number=self.number,
            session=self._session,
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
            part=self._place.place,
            repeats=self._place.repeats,
            text_sent=self._place.text_sent,
            stop_lag=self._stop_lag,
            request=self.request,
        )

    def new_event(self) -> asyncio.Event:
        """Return an event of the server's loop."""
        return asyncio.Event()

    async def play(self) -> None:
        """Answer the request to its end, whoever ends it."""
        try:
            if self.reply is None or self.answer is None:
                await self._refuse(501, f"fakemodel: no reply is scripted for this request: {self.reason}")
            elif self.request.stream:
                await self._stream(self.reply, self.answer)
            elif self.reply.endless:
                await self._refuse(501, "fakemodel: an endless reply can only be streamed")
            else:
                await self._whole(self.reply, self.answer)
        finally:
            self._close()

    async def _refuse(self, status: int, message: str) -> None:
        self._status = status
        self._ended_by = "fault"
        headers = {**_JSON_HEADERS, "x-should-retry": "false"}
        await self.connection.start(status, headers)
        await self.connection.finish(self._protocol.error(status, message))

    async def _stream(self, reply: Reply, answer: Answer) -> None:
        self._status = 200
        self._scripted = count_chunks(self._protocol, answer, reply)
        await self.connection.start(200, _STREAM_HEADERS)
        writer = self._protocol.writer(answer)
        items = chunks(writer, answer, reply, self._place, whole_calls=self._protocol.whole_calls)
        await self._send(with_gate(items, reply), reply.pace)
        if self._ended_by is None and self.connection.stopped is None:
            self._ended_by = "script"
            await self.connection.finish()

    async def _whole(self, reply: Reply, answer: Answer) -> None:
        self._status = 200
        body = self._protocol.whole(answer, [whole_text(planned.part) for planned in answer.parts])
        self._scripted = 1
        await self.connection.start(200, {**_JSON_HEADERS, "content-length": str(len(body))})
        await self._send(with_gate(iter((body,)), reply), 0)
        if self._ended_by is None and self.connection.stopped is None:
            self._ended_by = "script"
            await self.connection.finish()

    async def _send(self, items: Iterator[Item], pace: float) -> None:
        """Send the items in time; the loop runs on every chunk, so that a leaving client is seen at once."""
        connection = self.connection
        for item in items:
            if isinstance(item, bytes):
                await connection.write(item)
                if connection.stopped is not None:
                    return
                self.chunks_sent += 1
                if self._first_at is None:
                    self._first_at = time.monotonic()
                    self._stage.say("first_chunk", self)
                await connection.pause(pace if self._place.paced else 0)
            elif isinstance(item, Hold):
                await self._stage.hold(self, item.gate)
            elif isinstance(item, Pause):
                await connection.pause(item.seconds)
            if connection.stopped is not None:
                return

    def _close(self) -> None:
        self._closed_at = time.monotonic()
        if self._ended_by is None:
            self._ended_by = self._cause()
            self._stop_lag = self._closed_at - self.connection.stopped_at
        self.connection.close()
        self._stage.end(self)
