"""One HTTP response on the socket: sends bytes, waits, and knows at once when the client has left."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time
import types
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping, MutableMapping

    from uvicorn.protocols.http.flow_control import FlowControl

    Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

__all__ = ["Connection", "Wire", "others"]

_FLUSH_SECONDS = 2.0
"""How long a reset waits for what was written before; a client that reads nothing gets less."""


@types.coroutine
def others() -> Generator[None, None, None]:
    """Let the other tasks of the loop run once; half of what ``asyncio.sleep(0)`` costs."""
    yield


class Wire(Protocol):
    """The server's side of the TCP connection; ``left_at`` is when the client closed it (monotonic seconds)."""

    transport: asyncio.Transport
    flow: FlowControl
    left_at: float | None


class Connection:
    """The answer's side of one request.

    ``stopped`` is None while the stream may go on, else why not: ``gone`` (the client closed the
    connection, at ``stopped_at`` in monotonic seconds) or ``shutdown`` (the stage was closed). ``flow`` says
    whether the client reads too slowly.
    """

    def __init__(self, receive: Receive, send: Send, wire: Wire) -> None:
        self.stopped: Literal["gone", "shutdown"] | None = None
        self.stopped_at = 0.0
        self._receive = receive
        self._send = send
        self.flow = wire.flow
        self._wire = wire
        self._transport = wire.transport
        self._wake = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None

    async def body(self) -> bytes:
        """Read the whole request body, then begin to watch for the client's leave."""
        parts = []
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.stop("gone")
                break
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                self._watcher = asyncio.create_task(self._watch())
                break
        return b"".join(parts)

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.stop("gone")

    def stop(self, why: Literal["gone", "shutdown"]) -> None:
        """End the stream; the first reason counts."""
        if self.stopped is None:
            self.stopped = why
            self.stopped_at = (self._wire.left_at if why == "gone" else None) or time.monotonic()
            self._wake.set()

    def notice(self) -> None:
        """Notice a leave that the watcher has not come to yet."""
        if self._wire.left_at is not None:
            self.stop("gone")

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status line and the headers."""
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    def put(self, data: bytes) -> bool:
        """Hand a piece of the body to the socket, as one chunk of HTTP, past the slower ASGI send.

        Returns False when the client has left. First ask ``flow``, and drain it while the client reads too slowly.
        """
        # The transport is closed some turns of the loop before the watcher runs, and a closed one raises.
        if self._transport.is_closing():
            self.stop("gone")
            return False
        self._transport.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    async def write(self, data: bytes) -> bool:
        """Hand a piece of the body to the socket, after waiting for a client that reads too slowly."""
        if self.flow.write_paused:
            await self.flow.drain()
        return not data or self.put(data)

    async def finish(self, data: bytes = b"") -> None:
        """Send the last bytes and end the response as HTTP wants it."""
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def cut(self, by: Literal["fin", "rst"]) -> None:
        """Close the connection under the client: as usual, or by a reset. What was written before arrives."""
        transport = self._transport
        if by == "rst":
            deadline = time.monotonic() + _FLUSH_SECONDS
            while transport.get_write_buffer_size() and self.stopped is None and time.monotonic() < deadline:
                await others()
            linger = struct.pack("ii", 1, 0) if sys.platform != "win32" else struct.pack("hh", 1, 0)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            transport.abort()
        else:
            transport.close()

    async def pause(self, seconds: float | None) -> None:
        """Wait, but no longer than the client stays (None: until it leaves); 0 only lets others run."""
        if seconds is not None and seconds <= 0:
            await others()
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def wait_for(self, released: asyncio.Event) -> None:
        """Wait until the event is set or the stream is stopped."""
        waits = [asyncio.create_task(event.wait()) for event in (released, self._wake)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()

    def close(self) -> None:
        """Stop watching."""
        if self._watcher is not None:
            self._watcher.cancel()
