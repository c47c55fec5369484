from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from standin import a_scene

from fakemodel.exchange import Event, Exchange
from fakemodel.request import Request
from harness.errors import DeadlineError, SetupError
from harness.guards import Installed
from harness.opencode.oneshot import OneShot
from harness.probe.control import ProbeEntry


@pytest.fixture
def scene(tmp_path):
    return a_scene(tmp_path)


def last(scene):
    entry = scene.timeline.last
    return entry.lane, entry.kind, entry.source, entry.session, entry.data


# -- reporters


@pytest.mark.parametrize(
    ("properties", "session"),
    [
        ({"sessionID": "ses_1"}, "ses_1"),
        ({"info": {"sessionID": "ses_1", "id": "msg_1"}}, "ses_1"),
        ({"part": {"sessionID": "ses_1"}}, "ses_1"),
        ({"info": None, "part": None}, None),
        ({}, None),
    ],
)
def test_an_event_belongs_to_its_session(scene, properties, session):
    scene.event("message.updated", properties)
    assert last(scene) == ("opencode", "message.updated", "events", session, properties)


@pytest.mark.parametrize(
    ("kind", "lane"),
    [
        ("loaded", "guard"),
        ("api.request", "guard"),
        ("api.hung", "guard"),
        ("timer.open", "guard"),
        ("hook.before", "opencode"),
        ("message.user", "opencode"),
        ("config", "opencode"),
    ],
)
def test_an_entry_of_the_probe_has_its_own_time(scene, kind, lane):
    scene.probe(ProbeEntry(12.5, 0.001, 9, kind, "/w", "ses_1", {"a": 1}))
    assert last(scene) == (lane, kind, "probe", "ses_1", {"a": 1})
    assert (scene.timeline.last.at, scene.timeline.last.error) == (12.5, 0.001)


def exchange(kind, session="main", identity="ses_1"):
    request = Request("m", stream=True, system="", messages=(), tools=())
    return Exchange(
        number=1, session=session, session_id=identity, parent_id=None, kind=kind, protocol="openai_chat",
        reply=1, use=1, received_at=1.0, first_at=None, closed_at=None, status=None, ended_by=None,
        chunks_sent=0, chunks_scripted=None, part=None, repeats=0, sentence=None, text_sent=0, stop_lag=None,
        faults=(), stalled=None, request=request,
    )  # fmt: skip


def test_an_exchange(scene):
    scene.exchange(Event("gate", 3.5, exchange("main"), {"gate": "middle"}))
    lane, kind, source, session, data = last(scene)
    assert (lane, kind, source, session, scene.timeline.last.at) == ("model", "exchange.gate", "fake", "ses_1", 3.5)
    assert data["gate"] == "middle"
    assert scene.asked == []


def test_a_child_gets_its_name_from_the_fake_model(scene):
    scene.exchange(Event("received", 1.0, exchange("child", "child[2]", "ses_9"), {}))
    scene.exchange(Event("received", 1.0, exchange("child", "another", "ses_9"), {}))
    scene.exchange(Event("received", 1.0, exchange("child", None, "ses_8"), {}))
    scene.exchange(Event("received", 1.0, exchange("title", "main", "ses_7"), {}))
    assert scene.sessions == {"ses_9": "child[2]"}


def test_elapsed_moves_the_clock_before_the_entry_is_there(scene):
    scene.tools.control.move_clock = lambda *given: scene.asked.append((given, scene.timeline.entries))
    scene.exchange(Event("received", 1.0, exchange("main"), {"elapsed": 26.0}))
    assert scene.asked == [((scene.directory, 26.0), ())]
    assert scene.timeline.last.data["elapsed"] == 26.0
    scene.exchange(Event("received", 1.0, exchange("main"), {"elapsed": 0.0}))
    assert len(scene.asked) == 1


def test_a_clock_that_does_not_move_is_the_runs_failure_and_not_the_fake_models(scene):
    def blocked(_directory, _seconds):
        raise DeadlineError("its event loop is blocked")

    scene.tools.control.move_clock = blocked
    scene.exchange(Event("received", 1.0, exchange("main"), {"elapsed": 26.0}))
    assert scene.timeline.last.kind == "exchange.received"
    with pytest.raises(DeadlineError, match=r"^its event loop is blocked$"):
        scene.timeline.check()


@pytest.mark.parametrize(
    ("event", "kind", "data"),
    [
        ({"type": "error", "error": {"name": "E"}}, "session.error", {"error": {"name": "E"}}),
        ({"type": "text", "part": {"text": "hi"}}, "message.part.updated", {"part": {"text": "hi"}}),
        ({"type": "step_start"}, "message.part.updated", {}),
    ],
)
def test_what_opencode_run_prints(scene, event, kind, data):
    scene.printed({"timestamp": 2500, "sessionID": "ses_1", **event}, 10.0)
    assert last(scene) == ("opencode", kind, "events", "ses_1", data)
    assert scene.timeline.last.at == 12.5
    assert scene.sessions == {"ses_1": "main"}


def test_what_opencode_run_prints_is_the_assistants(scene):
    scene.printed({"type": "text", "timestamp": 0, "sessionID": "ses_1", "part": {"messageID": "msg_1"}}, 0.0)
    first, second = scene.timeline.entries
    assert (first.kind, first.data["info"]["role"], first.data["info"]["id"]) == (
        "message.updated",
        "assistant",
        "msg_1",
    )
    assert second.kind == "message.part.updated"


# -- what a scene knows


def test_a_session_is_made_when_it_is_first_named(scene):
    assert [scene.session(name) for name in ("main", "work", "main")] == ["ses_1", "ses_2", "ses_1"]
    assert scene.asked == ["create guardlab main", "bind ses_1 main", "create guardlab work", "bind ses_2 work"]


def test_of_several_sessions_of_a_name_the_newest_that_lives_is_meant(scene):
    scene.sessions |= {"ses_7": "work", "ses_8": "main", "ses_9": "work"}
    assert (scene.living("work"), scene.session("work"), scene.living("child")) == ("ses_9", "ses_9", None)
    scene.deleted |= {"ses_7", "ses_9"}
    assert scene.living("work") is None
    assert (scene.session("work"), scene.living("work")) == ("ses_1", "ses_1")


def test_a_child_that_begins_meanwhile_breaks_no_look(scene):
    """The fake model's thread adds children while the thread of the steps looks for a name."""

    class Growing(str):
        __slots__ = ()

        def __eq__(self, other):
            scene.sessions[f"ses_{len(scene.sessions) + 1}"] = "child"
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    scene.sessions["ses_1"] = Growing("main")
    assert scene.living("main") == "ses_1"
    assert len(scene.sessions) == 2


def test_what_is_open_is_told_in_the_scenarios_names(scene):
    scene.sessions["ses_1"] = "work"
    assert scene.named("session ses_1 is busy; session ses_2 is busy") == "session work is busy; session ses_2 is busy"


def test_a_child_is_known_by_its_name(scene):
    scene.sessions["ses_9"] = "child"
    assert scene.session("child") == "ses_9"
    assert scene.asked == []


def test_pending_takes_each_entry_once(scene):
    scene.timeline.add("user", "prompt", "runner", session="ses_1")
    assert scene.pending() == scene.pending() == ["OpenCode has not taken up 1 accepted prompt(s) of session ses_1"]
    scene.timeline.add("opencode", "message.user", "probe", session="ses_1")
    assert scene.pending() == ["session ses_1 has a new message but did not start"]


def test_a_snapshot_holds_what_can_be_looked_at_now(scene, tmp_path):
    ran = SimpleNamespace(folder="/w", command="echo a", call="call_1", at=time.time() - 60)
    object.__setattr__(scene.props, "shell", SimpleNamespace(records=lambda: (ran,)))
    scene.props.workspace.contents = dict
    scene.session("main")
    scene.timeline.add("user", "prompt", "runner", session="ses_1")
    snapshot = scene.snapshot()
    assert [entry.kind for entry in snapshot.entries] == ["shell", "prompt"], "in the order of their times"
    assert [entry.kind for entry in scene.timeline.entries] == ["prompt"], "a look leaves the timeline alone"
    assert snapshot.sessions == {"ses_1": "main"}
    assert snapshot.facts == {
        "guards": [],
        "version": "1.18.33",
        "workspace": str(tmp_path / "workspace"),
        "base": {"a.py": "hash"},
        "files": {},
        "contents": {},
    }


def test_of_a_guard_is_known_whether_it_is_known_where_it_logs(tmp_path):
    guards = [Installed(name, None, "file:///x", Path("e"), Path("r"), Path("s")) for name in ("infinity", "mine")]
    scene = a_scene(tmp_path, guards=guards)
    scene.guard_logs = (("infinity", scene.log),)
    assert [(one["name"], one["log"]) for one in scene.standing_facts()["guards"]] == [
        ("infinity", True), ("mine", False),
    ]  # fmt: skip


def test_a_server_is_watched_and_let_go(scene):
    scene.connect()
    scene.disconnect()
    assert scene.asked == ["watch True", "watch False", "close"]
    scene.asked.clear()
    scene.program.up = False
    scene.disconnect()
    assert scene.asked == ["close"], "a server that is gone has no events"


def test_opencode_run_has_no_server(tmp_path):
    program = OneShot(SimpleNamespace(version="1"), None, None, {})
    scene = a_scene(tmp_path, "opencode: {via: run}\nsteps: [{prompt: Go.}]", program)
    assert not scene.alive
    with pytest.raises(SetupError, match=r"^this step needs a server; `opencode: \{via: run\}` has none$"):
        _ = scene.server
