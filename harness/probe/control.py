"""The harness's end of the probe: receives its entries in order, sends orders, and keeps the two clocks together."""

from __future__ import annotations

import itertools
import json
import secrets
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from harness.errors import DeadlineError

__all__ = ["Control", "ProbeEntry"]

PINGS = 5
PING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ProbeEntry:
    """One line of the probe, placed on the harness's clock.

    Fields: `at` seconds (monotonic), `error` half the round trip of the best handshake in seconds, `seq` the probe's
    own count, `kind`, `directory` of the OpenCode instance, `session`, `data`.
    """

    at: float
    error: float
    seq: int
    kind: str
    directory: str
    session: str | None
    data: dict[str, Any]


Sink = Callable[[ProbeEntry], None]


class Control:
    """A loopback listener for probes; one for a worker.

    Fields: `token` by which a probe proves itself; `errors` what reader threads died of. Entries of an instance go to
    the sink that was registered for its directory; entries of a directory without a sink are dropped, since they belong
    to a scenario that is over.
    """

    def __init__(self) -> None:
        """Listen at once; threads start with `start`."""
        self.token = secrets.token_hex(16)
        self.errors: list[str] = []
        self._sinks: dict[str, Sink] = {}
        self._links: list[_Link] = []
        self._homes: dict[str, _Link] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.control = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="guardlab-control")

    @property
    def address(self) -> str:
        """Where a probe connects: `host:port`."""
        host, port = self._server.server_address[:2]
        return f"{host!s}:{port}"

    def start(self) -> None:
        """Begin to accept probes."""
        self._thread.start()

    def stop(self) -> None:
        """Close every connection and end every thread."""
        self._server.shutdown()
        for link in list(self._links):
            link.close()
        self._server.server_close()
        self._thread.join(timeout=10)

    def watch(self, directory: str, sink: Sink | None) -> None:
        """Send entries of this instance to `sink`; None forgets the directory."""
        with self._lock:
            if sink is None:
                self._sinks.pop(directory, None)
                self._homes.pop(directory, None)
            else:
                self._sinks[directory] = sink

    def reaches(self, directory: str) -> bool:
        """Whether the probe that spoke last for this workspace is still connected."""
        link = self._homes.get(directory)
        return link is not None and not link.gone

    def release(self, directory: str, gate: str) -> None:
        """Open a gate at which the probe holds an API call."""
        for link in list(self._links):
            link.ask({"order": "release", "directory": directory, "gate": gate}, PING_SECONDS)

    def move_clock(self, directory: str, seconds: float) -> None:
        """Move Date forward in the process of this workspace's instance; timers are not moved.

        Returns when the probe has done it. Raises DeadlineError when OpenCode's process does not answer.
        """
        link = self._homes.get(directory)
        if link:
            link.ask({"order": "clock", "ms": seconds * 1000}, PING_SECONDS)

    def flush(self, seconds: float = PING_SECONDS) -> float:
        """Return once everything that the probes said so far has arrived; also a clock handshake.

        Returns the clock error in seconds (the worst over the probes, 0.0 without a probe). Raises DeadlineError when
        OpenCode's process does not answer in time: its event loop is blocked.
        """
        return max((link.ask({"order": "ping"}, seconds) for link in list(self._links)), default=0.0)

    def _join(self, link: _Link) -> None:
        with self._lock:
            self._links.append(link)

    def _leave(self, link: _Link) -> None:
        with self._lock:
            if link in self._links:
                self._links.remove(link)

    def _deliver(self, link: _Link, entry: ProbeEntry) -> None:
        with self._lock:
            self._homes[entry.directory] = link
            sink = self._sinks.get(entry.directory)
        if sink:
            sink(entry)


class _Link:
    """One connected probe: its clock's offset to ours, and the lines that wait for the first handshake."""

    def __init__(self, control: Control, handler: _Handler) -> None:
        self.control = control
        self.handler = handler
        self.offset: float | None = None
        self.error = float("inf")
        self.early: list[dict[str, Any]] = []
        self.pings: dict[int, tuple[float, threading.Event]] = {}
        self.numbers = itertools.count(1)
        self.gone = False

    def order(self, order: dict[str, Any]) -> None:
        try:
            self.handler.request.sendall(json.dumps(order).encode() + b"\n")
        except OSError:
            self.gone = True

    def handshake(self) -> None:
        for number in range(-PINGS, 0):
            self.pings[number] = (time.monotonic(), threading.Event())
            self.order({"order": "ping", "id": number})

    def ask(self, order: dict[str, Any], seconds: float) -> float:
        """Send an order and wait for the probe's pong; gives the clock error."""
        answered = threading.Event()
        number = next(self.numbers)
        self.pings[number] = (time.monotonic(), answered)
        self.order({**order, "id": number})
        if not (self.gone or answered.wait(seconds) or self.gone):
            raise DeadlineError(
                f"OpenCode's process has not answered the probe's {order['order']} for {seconds:g} s; "
                f"its event loop is blocked"
            )
        return 0.0 if self.gone else self.error

    def take(self, line: dict[str, Any]) -> None:
        if line["kind"] == "pong":
            self.pong(line)
        elif self.offset is None:
            self.early.append(line)
        else:
            self.place(line)

    def pong(self, line: dict[str, Any]) -> None:
        sent, answered = self.pings.pop(line["data"]["id"])
        arrived = time.monotonic()
        error = (arrived - sent) / 2
        if error < self.error:
            self.error, self.offset = error, (sent + arrived) / 2 - line["t"] / 1000
        early, self.early = self.early, []
        for held in early:
            self.place(held)
        answered.set()

    def place(self, line: dict[str, Any]) -> None:
        directory = line.get("directory")
        if directory and self.offset is not None:
            at = line["t"] / 1000 + self.offset
            entry = ProbeEntry(
                at, self.error, line["seq"], line["kind"], directory, line.get("session"), line.get("data") or {}
            )
            self.control._deliver(self, entry)  # noqa: SLF001 - the two halves of one room

    def close(self) -> None:
        self.gone = True
        for _, answered in list(self.pings.values()):  # others may be asking
            answered.set()
        self.handler.hang_up()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = False
    control: Control

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - the base's signature
        """Keep what a reader's thread died of; the base class would only print it."""
        self.control.errors.append(f"probe reader: {sys.exception()!r}")


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        control = cast("_Server", self.server).control
        if self._token() != control.token:
            return
        link = _Link(control, self)
        control._join(link)  # noqa: SLF001 - the two halves of one room
        try:
            link.handshake()
            while line := self._line():
                link.take(line)
        finally:
            link.close()
            control._leave(link)  # noqa: SLF001 - the two halves of one room

    def _token(self) -> str | None:
        """Read the first line; None when whoever has connected is no probe."""
        try:
            hello = self._line()
            return str(hello["data"]["token"]) if hello else None
        except (ValueError, KeyError, TypeError):
            return None

    def _line(self) -> dict[str, Any] | None:
        try:
            text = self.rfile.readline()
        except OSError:
            return None
        # A killed process can leave half a line; what was whole has been taken.
        return json.loads(text) if text.endswith(b"\n") else None

    def hang_up(self) -> None:
        try:
            self.request.shutdown(2)
        except OSError:
            return
