"""Stand-ins for what a scene is made of; the scene, its timeline and its activity are the real ones."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from harness.errors import DeadlineError
from harness.evidence import Tail
from harness.opencode.server import Server
from harness.props import Props
from harness.scenario.loader import loads
from harness.scene import Scene
from harness.timeline import Timeline

HEAD = "format: 1\ntitle: A stand-in\nscript: {main: [{say: One., gate: middle}], work: [{say: Two.}]}\n"


class Machine(Server):
    """A server that is up or down as the test says; `log` is what was asked of everything, in order."""

    def __init__(self, log):
        self.log = log
        self.up = True
        self.closed = threading.Event()
        self.binary = SimpleNamespace(version="1.18.33")
        self.drivers = 0

    @property
    def alive(self):
        return self.up

    @property
    def child(self):
        return SimpleNamespace(returncode=-11, tail=lambda: "boom", wait=lambda _seconds: not self.up)

    @property
    def events(self):
        def watch(_folder, sink):
            self.log.append(f"watch {bool(sink)}")

        return SimpleNamespace(watch=watch, closed=self.closed, error=ValueError("no JSON"))

    def driver(self, _directory):
        self.drivers += 1
        return Driver(self.log)

    def kill(self):
        self.log.append("kill")
        self.up = False

    def start(self):
        self.log.append("start")
        self.up = True


class Driver:
    """`answers` are what OpenCode says of its sessions, one after the other; then every session is idle."""

    def __init__(self, log):
        self.log = log
        self.answers = []
        self.made = 0

    def status(self):
        self.log.append("status")
        return self.answers.pop(0) if self.answers else {}

    def create_session(self, title):
        self.made += 1
        self.log.append(f"create {title}")
        return f"ses_{self.made}"

    def __getattr__(self, name):
        return lambda *given: self.log.append(" ".join(map(str, (name, *given))))


class Stage:
    """`left` are the unused replies, `gates` those at which a stream waits, `open_exchanges` what has not ended."""

    def __init__(self, log):
        self.log = log
        self.left = []
        self.gates = []
        self.open_exchanges = ()

    def unused(self):
        return tuple(self.left)

    def waiting_gates(self):
        return tuple(self.gates)

    def __getattr__(self, name):
        return lambda *given: self.log.append(" ".join(map(str, (name, *given))))


class Control:
    """`late` is called once by the next flush: what a probe had still to say."""

    def __init__(self, log):
        self.log = log
        self.late = None
        self.linked = True

    def reaches(self, _directory):
        return self.linked

    def flush(self):
        self.log.append("flush")
        late, self.late = self.late, None
        if late:
            late()

    def release(self, _directory, gate):
        self.log.append(f"release api {gate}")

    def move_clock(self, directory, seconds):
        self.log.append(f"move {directory} by {seconds}")


def unused(session="main", reply=1, used=0, wanted=1):
    return SimpleNamespace(session=session, reply=reply, used=used, wanted=wanted)


def a_scene(folder, text="steps: [{prompt: Go.}]", program=None, guards=()):
    """Set a scene for a scenario whose steps, expect and so on are `text`; `scene.asked` is the log of everything."""
    log = []
    scenario = loads(HEAD + text, folder / "x.scenario.yaml")
    tools = SimpleNamespace(model=SimpleNamespace(check=lambda: None), control=Control(log))
    workspace, shell = SimpleNamespace(root=folder / "workspace", contents=dict), SimpleNamespace(records=tuple)
    props = Props(folder, workspace, shell, tuple(guards), {"a.py": "hash"})
    scene = Scene(scenario, props, program or Machine(log), tools, Timeline())
    scene.stage, scene.driver, scene.asked = Stage(log), Driver(log), log
    scene.log = Tail(folder / "opencode.log")
    return scene


def later(*actions):
    """Give a callable that does the next of these at each call, in the thread that waits: no sleeping, no races."""
    left = list(actions)

    def act(*_given):
        if left:
            left.pop(0)()

    return act


def on_wait(scene, *actions):
    """Do one action each time a wait looks again."""
    act, look = later(*actions), scene.stage.unused

    def unused_now():
        act()
        return look()

    scene.stage.unused = unused_now


def add(scene, event, source="probe", at_session="ses_1", **data):
    return scene.timeline.add("opencode", event, source, session=at_session, data=data)


def busy(scene):
    return add(scene, "hook.event", type="session.status", status="busy", id="evt_1")


def idle(scene):
    return add(scene, "hook.event", type="session.status", status="idle", id="evt_2")


def published(scene, *ids):
    for identity in ids:
        add(scene, "session.status", "events", _id=identity)


def kinds(scene):
    return [entry.kind for entry in scene.timeline.entries]


def deadline(act, *given):
    with pytest.raises(DeadlineError) as caught:
        act(*given)
    return str(caught.value)
