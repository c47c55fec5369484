"""Where one scenario plays: its workspace, guards, script and reporters, and the timeline that they fill."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.activity import Activity
from harness.entries import exchange_data
from harness.errors import DeadlineError, SetupError
from harness.evidence import SESSION, Tail, commands, log_of, logs, workspace_facts
from harness.opencode.config import PACKAGES, config_of
from harness.opencode.oneshot import OneShot
from harness.opencode.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.exchange import Event as ModelEvent
    from fakemodel.server import FakeModel
    from fakemodel.stage import Stage
    from harness.opencode.driver import Driver
    from harness.probe.control import Control, ProbeEntry
    from harness.props import Props
    from harness.scenario.model import Scenario
    from harness.timeline import Lane, Record, Timeline

__all__ = ["Scene", "Tools", "opened"]

PROBE = Path(str(files("harness.probe"))) / "probe.mjs"
GUARD_KINDS = frozenset(("loaded", "api.request", "api.response", "api.gate", "api.hung", "timer.open", "timer.closed"))
MAIN = "main"


@dataclass(frozen=True, slots=True)
class Tools:
    """What a worker shares between its scenarios."""

    model: FakeModel
    control: Control


@dataclass
class Scene:
    """One scenario's place and its live state.

    Fields: `props` its folders; `program` OpenCode, and `driver` its client; `stage` the fake model's
    generation; `timeline`; `activity` what is still going on; `sessions` OpenCode's session id -> the scenario's name,
    to which the fake model's thread adds children; `deleted` the ids of those that a step has deleted; `ended` OpenCode
    was killed by a step; `born` how many entries and lines of its log there were when it was started again;
    `program_facts` what `opencode run` wrote to its standard error.
    """

    scenario: Scenario
    props: Props
    program: Server | OneShot
    tools: Tools
    timeline: Timeline
    stage: Stage = field(init=False)
    driver: Driver = field(init=False)
    activity: Activity = field(default_factory=Activity)
    sessions: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    log: Tail = field(init=False)
    guard_logs: tuple[tuple[str, Tail], ...] = ()
    ended: bool = False
    born: tuple[int, int] = (0, 0)
    program_facts: dict[str, Any] = field(default_factory=dict)
    _seen: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def server(self) -> Server:
        """The server. Raises SetupError under `via: run`, which has none."""
        if isinstance(self.program, OneShot):
            raise SetupError("this step needs a server; `opencode: {via: run}` has none")
        return self.program

    @property
    def alive(self) -> bool:
        """Whether a server is up that can be asked."""
        return isinstance(self.program, Server) and self.program.alive

    @property
    def directory(self) -> str:
        """The workspace as OpenCode names it."""
        return str(self.props.workspace.root)

    def pending(self) -> list[str]:
        """Bring `activity` up to date and name what is open. Raises FakeModelError when the fake model broke down."""
        self.tools.model.check()
        with self._lock:
            for entry in self.timeline.since(self._seen):
                self.activity.take(entry)
                self._seen = entry.seq
            return [self.named(part) for part in self.activity.pending()]

    def named(self, text: str) -> str:
        """Put the scenario's names in the place of OpenCode's session ids."""
        return SESSION.sub(lambda found: self.sessions.get(found[0], found[0]), text)

    def living(self, name: str) -> str | None:
        """Give the session of that name, the newest of several; None when none has begun, or a step has deleted it."""
        known = [one for one, called in dict(self.sessions).items() if called == name and one not in self.deleted]
        return known[-1] if known else None

    def session(self, name: str) -> str:
        """Give the session of that name; it is created, with a title of its own, when there is none."""
        known = self.living(name)
        if known:
            return known
        session = self.driver.create_session(f"guardlab {name}")
        self.sessions[session] = name
        self.stage.bind(session, name)
        return session

    def connect(self) -> None:
        """Let the server's events reach the timeline and give the driver its address; again after a restart."""
        self.server.events.watch(self.directory, self.event)
        self.driver = self.server.driver(self.props.workspace.root)

    def disconnect(self) -> None:
        """Stop what `connect` began."""
        if self.alive:
            self.server.events.watch(self.directory, None)
        self.driver.close()

    def snapshot(self) -> Record:
        """Freeze what has been seen so far, for a step that waits for an expectation."""
        facts = {**self.standing_facts(), **workspace_facts(self)}
        return self.timeline.freeze(self.sessions, facts, (*commands(self), *logs(self)))

    def standing_facts(self) -> dict[str, Any]:
        """Give the facts that hold from the start of the run."""
        logged = {guard for guard, _ in self.guard_logs}
        guards = [
            {"name": g.name, "marker": g.marker, "path": str(g.source), "log": g.name in logged}
            for g in self.props.guards
        ]
        return {
            "guards": guards,
            "version": self.program.binary.version,
            "workspace": self.directory,
            "base": dict(self.props.base),
        }

    # -- reporters: each is called in a thread of its own and only adds entries

    def event(self, kind: str, properties: dict[str, Any]) -> None:
        """Take an event of OpenCode's stream."""
        session = properties.get("sessionID") or (properties.get("info") or {}).get("sessionID")
        session = session or (properties.get("part") or {}).get("sessionID")
        self.timeline.add("opencode", kind, "events", session=session, data=properties)

    def printed(self, event: dict[str, Any], offset: float) -> None:
        """Take a JSON line of `opencode run` as the event that it stands for; `offset` places its epoch time."""
        session, at = event.get("sessionID"), float(event.get("timestamp", 0)) / 1000 + offset
        if session:
            self.sessions.setdefault(session, MAIN)
        kind = "session.error" if event["type"] == "error" else "message.part.updated"
        message = (event.get("part") or {}).get("messageID")
        if message:  # `run` prints what the assistant says and does, and nothing else
            info = {"id": message, "role": "assistant", "sessionID": session}
            self.timeline.add("opencode", "message.updated", "events", session=session, data={"info": info}, at=at)
        data: dict[str, Any] = {key: event[key] for key in ("part", "error") if key in event}
        self.timeline.add("opencode", kind, "events", session=session, data=data, at=at)

    def probe(self, said: ProbeEntry) -> None:
        """Take an entry of the probe."""
        lane: Lane = "guard" if said.kind in GUARD_KINDS else "opencode"
        self.timeline.add(lane, said.kind, "probe", session=said.session, data=said.data, at=said.at, error=said.error)

    def exchange(self, event: ModelEvent) -> None:
        """Take an event of the fake model; a reply's `elapsed` moves OpenCode's clock before the reply is sent."""
        exchange = event.exchange
        if event.kind == "received":
            if exchange.kind == "child" and exchange.session and exchange.session_id:
                self.sessions.setdefault(exchange.session_id, exchange.session)
            seconds = event.detail.get("elapsed")
            if seconds:
                self._move_clock(float(seconds))
        data = exchange_data(event)
        self.timeline.add(
            "model", f"exchange.{event.kind}", "fake", session=exchange.session_id, data=data, at=event.at
        )

    def _move_clock(self, seconds: float) -> None:
        """Bring a failure home: it happens in the fake model's thread, which other scenarios use too."""
        try:
            self.tools.control.move_clock(self.directory, seconds)
        except DeadlineError as error:
            self.timeline.fail(error)


def _config(scene: Scene) -> dict[str, Any]:
    options = scene.scenario.head.opencode
    control = scene.tools.control
    api = {call: fault.model_dump(exclude_none=True) for call, fault in options.api.items()}
    roots = [str(guard.root) for guard in scene.props.guards]
    probe = [
        PROBE.as_uri(),
        {
            "control": control.address,
            "token": control.token,
            "roots": roots,
            "api": api,
            "shell": dict(scene.props.shell.variables),
        },
    ]
    return config_of(
        base_url=scene.stage.base_url(options.protocol),
        package=PACKAGES[options.protocol],
        shell=scene.props.shell.path,
        probe=probe,
        guards=scene.props.guards,
        extra=options.config,
    )


@contextmanager
def opened(
    scenario: Scenario, props: Props, program: Server | OneShot, tools: Tools, timeline: Timeline
) -> Iterator[Scene]:
    """Set the scene: script, config, reporters. Everything is undone in reverse order afterwards."""
    home = program.home
    with ExitStack() as undo:
        scene = Scene(scenario, props, program, tools, timeline)
        markers = tuple(guard.marker for guard in props.guards if guard.marker)
        scene.stage = tools.model.open(scenario.script, scene.exchange, markers=markers)
        undo.callback(scene.stage.close)
        props.workspace.write_config(_config(scene))
        tools.control.watch(scene.directory, scene.probe)
        undo.callback(tools.control.watch, scene.directory, None)
        scene.log = Tail(home.log)
        scene.guard_logs = tuple((guard.name, Tail(path)) for guard in props.guards if (path := log_of(guard, home)))
        if isinstance(program, Server):
            scene.connect()
            undo.callback(scene.disconnect)
        yield scene
