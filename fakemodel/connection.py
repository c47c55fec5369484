"""One HTTP response on the socket: sends bytes, waits, and knows at once when the client has left."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, MutableMapping

    Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

__all__ = ["Connection"]


class Connection:
    """The answer's side of one request.

    ``stopped`` is None while the stream may go on, else why not: ``gone`` (the client closed the
    connection, at ``stopped_at`` in monotonic seconds) or ``shutdown`` (the stage was closed).
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self.stopped: Literal["gone", "shutdown"] | None = None
        self.stopped_at = 0.0
        self._receive = receive
        self._send = send
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
            self.stopped, self.stopped_at = why, time.monotonic()
            self._wake.set()

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status line and the headers."""
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    async def write(self, data: bytes) -> None:
        """Hand bytes to the socket."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def finish(self, data: bytes = b"") -> None:
        """Send the last bytes and end the response as HTTP wants it."""
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def pause(self, seconds: float) -> None:
        """Wait, but no longer than the client stays; 0 only lets others run."""
        if seconds <= 0:
            await asyncio.sleep(0)
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
