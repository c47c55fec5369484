"""OpenCode's event stream of a server, handed out by workspace."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import httpx
from httpx_sse import connect_sse

from harness.errors import CrashError, DeadlineError
from harness.opencode.client import open_client

__all__ = ["Events"]

CONNECT_SECONDS = 20.0
# OpenCode sends server.heartbeat every 10 s (opencode-facts.md C); silence for longer means a dead connection.
SILENCE_SECONDS = 60.0
# One delta a provider chunk: an endless reply would fill the timeline; the fake model's close record counts chunks.
LEFT_OUT = frozenset(
    ("message.part.delta", "server.heartbeat", "server.connected", "sync", "plugin.added", "catalog.updated")
)

Sink = Callable[[str, dict[str, Any]], None]


class Events:
    """Subscribes to `/global/event` in a thread of its own, before the first session: load errors come only there.

    `watch(directory, sink)` sends an instance's events as (type, properties with `_id`) to `sink`. Load errors name no
    session; they too carry the directory. `closed` is set when the stream ended, `error` says why.
    """

    def __init__(self, address: str, password: str) -> None:
        """Prepare; `start` connects."""
        self._address = address
        self._client = open_client(password, timeout=httpx.Timeout(CONNECT_SECONDS, read=SILENCE_SECONDS))
        self._sinks: dict[str, Sink] = {}
        self._lock = threading.Lock()
        self._connected = threading.Event()
        self._stopping = False
        self._response: httpx.Response | None = None
        self.closed = threading.Event()
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._read, name="guardlab-events")

    def start(self) -> None:
        """Connect. Raises DeadlineError or CrashError when OpenCode does not open the stream."""
        self._thread.start()
        if not self._connected.wait(CONNECT_SECONDS):
            raise DeadlineError(f"{self._address}/global/event was not opened within {CONNECT_SECONDS:g} s")
        if self.error:
            raise CrashError(f"{self._address}/global/event: {self.error}") from self.error

    def stop(self) -> None:
        """End the thread; the server must have been stopped or the stream is cut here."""
        self._stopping = True
        if self._response:
            _cut(self._response)
        self._thread.join(timeout=10)
        self._client.close()

    def watch(self, directory: str, sink: Sink | None) -> None:
        """Send events of this workspace to `sink`; None forgets it."""
        with self._lock:
            if sink is None:
                self._sinks.pop(directory, None)
            else:
                self._sinks[directory] = sink

    def _read(self) -> None:
        try:
            with connect_sse(self._client, "GET", f"{self._address}/global/event") as source:
                self._response = source.response
                source.response.raise_for_status()
                self._connected.set()
                for event in source.iter_sse():
                    self._take(event.json())
        except Exception as error:  # noqa: BLE001 - whatever ended the stream is told to those who wait for it
            if not self._stopping:
                self.error = error
        finally:
            self.closed.set()
            self._connected.set()

    def _take(self, envelope: dict[str, Any]) -> None:
        payload = envelope.get("payload") or {}
        kind = payload.get("type", "")
        if kind in LEFT_OUT:
            return
        with self._lock:
            sink = self._sinks.get(envelope.get("directory", ""))
        if sink:
            sink(kind, {**(payload.get("properties") or {}), "_id": payload.get("id")})


def _cut(response: httpx.Response) -> None:
    """Shut the socket down under a blocked read: httpx has no other way to wake the thread that reads."""
    stream = response.extensions.get("network_stream")
    socket = stream.get_extra_info("socket") if stream else None
    if socket:
        try:
            socket.shutdown(2)
        except OSError:
            return
