"""The server: a socket that is bound first, and uvicorn in one thread of its own."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fakemodel.app import App
from fakemodel.stage import MARKERS, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from fakemodel.exchange import Event
    from fakemodel.script import Script

__all__ = ["FakeModel", "FakeModelError"]

_DEADLINE = 10.0
"""Seconds within which the server must have started, and stopped."""


class FakeModelError(Exception):
    """The server could not start, did not stop, or failed while it ran."""


class _Protocol(HttpToolsProtocol):
    """Uvicorn's HTTP, which shows itself to the application and notes when the client left."""

    left_at: float | None = None

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self.scope["state"]["wire"] = self

    def eof_received(self) -> None:
        """Note the client's FIN."""
        self.left_at = time.monotonic()
        super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the client's RST, and end the request."""
        self.left_at = self.left_at or time.monotonic()
        super().connection_lost(exc)


class _Server(uvicorn.Server):
    """Uvicorn that wakes at once when it is told to stop, instead of ten times a second."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = threading.Event()
        self._leave: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The server's loop, once it is up."""
        assert self._loop is not None  # noqa: S101 - asked for only after up was set
        return self._loop

    async def main_loop(self) -> None:
        """Run until told to leave."""
        self._loop, self._leave = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        self.up.set()
        await self._leave.wait()

    def leave(self) -> None:
        """Tell the server to stop; for any thread."""
        if self._loop is not None and self._leave is not None:
            with suppress(RuntimeError):  # a loop that has broken down is closed already
                self._loop.call_soon_threadsafe(self._leave.set)


class FakeModel:
    """A fake model server on loopback. Use it as a context manager, or call ``start`` and ``stop``.

    ``port``: 0 lets the system choose. Raises FakeModelError from ``start``, ``stop`` and ``check``.
    """

    def __init__(self, port: int = 0) -> None:
        self._port = port
        self._app = App()
        self._socket: socket.socket | None = None
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Bind the socket and serve; returns when the server answers."""
        try:
            self._socket = socket.create_server(("127.0.0.1", self._port), backlog=2048)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise FakeModelError(f"port {self._port} of 127.0.0.1 cannot be used: {why}") from error
        self._port = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            backlog=2048,
            timeout_keep_alive=3600,
            timeout_graceful_shutdown=2,
        )
        self._server = _Server(config)
        self._thread = threading.Thread(target=self._serve, name="fakemodel", daemon=True)
        self._thread.start()
        if not self._server.up.wait(_DEADLINE):
            raise FakeModelError(f"the fake model did not start within {_DEADLINE:g} s") from self._failure
        self.check()

    def _serve(self) -> None:
        assert self._server is not None  # noqa: S101 - start() made it
        assert self._socket is not None  # noqa: S101 - start() made it
        try:
            self._server.run(sockets=[self._socket])
        except BaseException as error:  # noqa: BLE001 - it is raised again where stop() or check() is called
            self._failure = error
            self._server.up.set()

    @property
    def address(self) -> str:
        """The server's root URL."""
        return f"http://127.0.0.1:{self._port}"

    def open(
        self, script: Script, listener: Callable[[Event], None] | None = None, markers: Sequence[str] = MARKERS
    ) -> Stage:
        """Open a stage that plays a script.

        ``listener`` is called on the server's thread with every event and must be fast; ``markers`` are the
        texts by which guards speak. Close the stage when its run is over.
        """
        self.check()
        if self._server is None:
            raise FakeModelError("the fake model is not running; call start() first")
        self._app.forget_closed()
        stage = Stage(script, self.address, self._server.loop, listener, markers)
        self._app.stages[stage.token] = stage
        return stage

    def check(self) -> None:
        """Raise what went wrong in the server's thread, if anything did."""
        error = self._failure or (self._app.errors[0] if self._app.errors else None)
        if error is not None:
            raise FakeModelError(f"the fake model failed: {error!r}") from error

    def stop(self) -> None:
        """Close every stage and the server; its thread and its port are gone when this returns."""
        if self._server is None or self._thread is None:
            return
        try:
            for stage in self._app.stages.values() if self._failure is None else ():
                stage.close()
        finally:
            self._server.leave()
            self._thread.join(_DEADLINE)
            if self._socket is not None:
                self._socket.close()
        if self._thread.is_alive():
            raise FakeModelError(f"the fake model did not stop within {_DEADLINE:g} s")
        self._server = None
        self.check()
