"""One real `opencode serve` in a hermetic home: started, listened to, killed, restarted and stopped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.errors import CrashError
from harness.opencode.driver import Driver
from harness.opencode.events import Events
from harness.process.readiness import wait_for_line

if TYPE_CHECKING:
    from pathlib import Path

    from harness.opencode.binary import Binary
    from harness.opencode.isolation import Home
    from harness.process.supervisor import Child, Supervisor

__all__ = ["LISTEN_SECONDS", "Server"]

LISTEN_SECONDS = 15.0
LISTENING = re.compile(r"^opencode server listening on (http://\S+)$", re.MULTILINE)


class Server:
    """An OpenCode process with its event stream.

    Fields: `home`, `address` (base URL), `events`, `child`, `used` (how many scenarios it has served). It listens on a
    port that OpenCode chose (`--port 0`) and tells in its first line; nobody picks one (opencode-facts.md H).
    """

    def __init__(
        self, binary: Binary, home: Home, supervisor: Supervisor, environment: dict[str, str] | None = None
    ) -> None:
        """Prepare; `start` runs it. `environment` is laid over the home's."""
        self.binary = binary
        self.home = home
        self.used = 0
        self._supervisor = supervisor
        self._environment = {**home.environment(), **(environment or {})}
        self._child: Child | None = None
        self._events: Events | None = None
        self.address = ""

    def start(self) -> None:
        """Start and wait until it listens and its event stream is open.

        Raises CrashError when it ends first, DeadlineError when it does not listen; both carry its output.
        """
        self._child = self._supervisor.spawn(
            [str(self.binary.path), "serve", "--hostname", "127.0.0.1", "--port", "0"],
            env=self._environment,
            cwd=self.home.root,
            log=self.home.root / "serve.log",
            name="opencode serve",
        )
        try:
            self.address = wait_for_line(self._child, LISTENING, LISTEN_SECONDS)[1]
            self._events = Events(self.address, self.home.password)
            self._events.start()
        except BaseException:
            self.stop()
            raise

    @property
    def events(self) -> Events:
        """The event stream of the running process."""
        if self._events is None:
            raise CrashError("OpenCode is not running")
        return self._events

    @property
    def child(self) -> Child:
        """The running process."""
        if self._child is None:
            raise CrashError("OpenCode is not running")
        return self._child

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._child is not None and self._child.alive

    @property
    def whole(self) -> bool:
        """Whether the process still runs and its event stream is open: one without the other shows no scenario."""
        return self.alive and self._events is not None and not self._events.closed.is_set()

    def driver(self, directory: Path) -> Driver:
        """Give a client for one workspace."""
        return Driver(self.address, self.home.password, str(directory))

    def kill(self) -> None:
        """Kill the process as a crash does: nothing is disposed, bash children may live on until the sweep."""
        self._supervisor.kill(self.child)
        self._close_events()

    def stop(self) -> None:
        """Stop the process and its tree; safe to call twice."""
        if self._child is not None:
            self._supervisor.stop(self._child)
            self._child = None
        self._close_events()

    def _close_events(self) -> None:
        if self._events is not None:
            self._events.stop()
            self._events = None
