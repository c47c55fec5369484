"""A proxy on loopback that lets nothing through and remembers who wanted to leave the machine."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Attempt", "EgressTrap"]

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


class Attempt(NamedTuple):
    """One attempt to leave the machine: where to, and when (seconds since the epoch)."""

    host: str
    port: int
    at: float


class EgressTrap:
    """A proxy that answers 403 to every request and records it; one thread, one port, both gone after `stop`.

    It sees what honours HTTP_PROXY and HTTPS_PROXY: OpenCode, npm, git, curl. A program that opens a socket of its own
    is not seen.
    """

    def __init__(self) -> None:
        self._attempts: list[Attempt] = []
        self._server: TCPServer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The address for HTTP_PROXY; the trap must have been started."""
        if self._server is None:
            raise RuntimeError("the egress trap has not been started")
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """What was attempted so far, in the order of arrival."""
        return tuple(self._attempts)

    def start(self) -> None:
        """Bind a port that the system picks, and listen."""
        record = self._attempts.append

        class Handler(_Refuse):
            def record(self, attempt: Attempt) -> None:
                record(attempt)

        self._server = TCPServer(("127.0.0.1", 0), Handler)  # HTTPServer would ask the DNS for our name
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="guardlab-egress", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close the port and end the thread. Stopping twice is allowed."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join(timeout=5)
        self._server.server_close()
        self._server = self._thread = None


class _Refuse(BaseHTTPRequestHandler):
    timeout = 0.5  # seconds: a client that connects and says nothing must not hold up the others for long

    def record(self, attempt: Attempt) -> None:
        raise NotImplementedError

    def handle(self) -> None:
        """Serve one client; one that goes away in between is no error."""
        with suppress(OSError):
            super().handle()

    def parse_request(self) -> bool:
        """Refuse as soon as the request line is read; False tells the base class that all is done."""
        if super().parse_request():
            self.record(_attempt(self.command, self.path))
            self.send_error(403, "guardlab lets nothing leave the machine")
        self.close_connection = True
        return False

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class names it so
        """Stay silent: the record is the log."""


def _attempt(method: str, target: str) -> Attempt:
    parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
    try:
        port = parts.port
    except ValueError:
        port = None
    return Attempt(parts.hostname or target, port or _PORTS.get(parts.scheme, 0), time.time())
