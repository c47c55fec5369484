"""The OpenCode servers of one worker: a warm one for many scenarios, and one of its own where a scenario wants it."""

from __future__ import annotations

import itertools
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil

from harness.errors import NotLoadedError, SetupError
from harness.opencode.isolation import Home
from harness.opencode.server import Server
from harness.process.ports import left_open

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from harness.opencode.binary import Binary
    from harness.process.supervisor import Supervisor

__all__ = ["Pool"]

# An instance costs 5 to 8 MB that dispose does not give back (opencode-facts.md G).
MOST_SCENARIOS = 60
MOST_MEMORY = 1_200_000_000


class Pool:
    """Lends servers. A shared one is used again until it has served enough, has grown too large, or broke."""

    def __init__(self, binary: Binary, ripgrep: Path, root: Path, egress_url: str, supervisor: Supervisor) -> None:
        """Start nothing yet."""
        self._binary = binary
        self._ripgrep = ripgrep
        self._root = root
        self._egress = egress_url
        self._supervisor = supervisor
        self._shared: Server | None = None
        self._numbers = itertools.count(1)

    @contextmanager
    def lend(self, *, alone: bool, environment: Mapping[str, str]) -> Iterator[Server]:
        """Give a running server; one that is lent `alone` ends afterwards. `environment` is for a server alone.

        One whose scenario ended in an error is not lent again: what broke the scenario may be broken for its neighbours
        too. A scenario that could not begin, or whose guard was refused, has not touched it.
        """
        server = self._start(environment) if alone else self._warm()
        server.used += 1
        good = True
        try:
            yield server
        except Exception as error:
            good = isinstance(error, SetupError | NotLoadedError)
            raise
        finally:
            if alone:
                self._end(server)
            elif not (good and server.whole):
                self.discard(server)

    def discard(self, server: Server) -> None:
        """Do not lend this server again: a scenario could not leave it as it was."""
        if server is self._shared:
            self._drop()

    @property
    def running(self) -> tuple[int, ...]:
        """The process that goes on between scenarios."""
        return (self._shared.child.pid,) if self._shared and self._shared.alive else ()

    def left_open(self, seconds: float) -> list[int]:
        """Give the ports that the shared server still listens on after `seconds`, besides its own.

        Such a server is not lent again: its neighbours have no part in that.
        """
        server = self._shared
        if server is None or not server.alive:
            return []
        ports = left_open(server.child, [urlsplit(server.address).port or 0], seconds)
        if ports:
            self._drop()
        return ports

    def make_home(self) -> Home:
        """Make a hermetic home for a process that is started elsewhere (`opencode run`)."""
        return Home.create(
            self._root / f"home-{next(self._numbers)}", self._binary.version, self._ripgrep, self._egress
        )

    def stop(self) -> None:
        """Stop the shared server."""
        self._drop()

    def _warm(self) -> Server:
        if self._shared and self._worn(self._shared):
            self._drop()
        if self._shared is None:
            self._shared = self._start({})
        return self._shared

    def _worn(self, server: Server) -> bool:
        if not server.whole or server.used >= MOST_SCENARIOS:
            return True
        return bool(psutil.Process(server.child.pid).memory_info().rss > MOST_MEMORY)

    def _start(self, environment: Mapping[str, str]) -> Server:
        server = Server(self._binary, self.make_home(), self._supervisor, dict(environment))
        server.start()
        return server

    def _drop(self) -> None:
        server, self._shared = self._shared, None
        if server:
            self._end(server)

    def _end(self, server: Server) -> None:
        try:
            server.stop()
        finally:
            shutil.rmtree(server.home.root, ignore_errors=True)
