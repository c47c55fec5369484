from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from standin import a_scene, on_wait, unused

from harness import steps
from harness.errors import CrashError, DeadlineError
from harness.opencode.oneshot import OneShot
from harness.steps import catch_up, do, settle

REQUEST = {"number": 1, "kind": "main", "session": "main", "reply": 1}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Nothing is waited for unless a test is about that."""
    for name in ("QUIET", "QUIET_FOR_ABSENCE", "STALL"):
        monkeypatch.setattr(steps, name, 0.0)


@pytest.fixture
def scene(tmp_path):
    return a_scene(tmp_path)


@pytest.fixture
def at(tmp_path):
    """Set the scene for these steps."""
    return lambda text: a_scene(tmp_path, text)


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


# -- settled


def test_a_silent_run_is_settled(scene):
    settle(scene, 5)
    assert kinds(scene) == ["settled"]
    assert scene.asked == ["status", "flush"], "OpenCode itself and the probe were asked"


def test_it_waits_until_nothing_is_open(scene):
    busy(scene)
    published(scene, "evt_1")
    on_wait(scene, lambda: None, lambda: idle(scene), lambda: published(scene, "evt_2"))
    settle(scene, 5)
    assert kinds(scene) == ["hook.event", "session.status", "hook.event", "session.status", "settled"]


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("steps: [{prompt: Go.}]", "QUIET"),
        ("steps: [{prompt: Go.}]\nexpect: [{blocked: {tool: bash, times: 0}}]", "QUIET_FOR_ABSENCE"),
        ("steps: [{prompt: Go.}]\nquiet: 60ms", None),
    ],
)
def test_it_waits_for_quiet(at, monkeypatch, text, constant):
    scene = at(text)
    if constant:
        monkeypatch.setattr(steps, constant, 0.06)
    last = add(scene, "todo.updated")
    settle(scene, 5)
    assert scene.timeline.last.at - last.at >= 0.06


def test_the_scenarios_own_quiet_wins(at, monkeypatch):
    monkeypatch.setattr(steps, "QUIET", 60.0)
    monkeypatch.setattr(steps, "QUIET_FOR_ABSENCE", 60.0)
    scene = at("steps: [{prompt: Go.}]\nquiet: 0\nexpect: [{blocked: {tool: bash, times: 0}}]")
    add(scene, "todo.updated")
    settle(scene, 1)


def test_it_starts_over_when_the_probe_had_more_to_say(scene):
    scene.tools.control.late = lambda: (busy(scene), idle(scene), published(scene, "evt_1", "evt_2"))
    settle(scene, 5)
    assert kinds(scene)[-1] == "settled"
    assert scene.asked == ["status", "flush", "status", "flush"]


def test_it_starts_over_when_opencode_calls_a_session_busy(scene):
    scene.driver.answers = [{"ses_1": {"type": "busy"}}]
    settle(scene, 5)
    assert scene.asked == ["status", "status", "flush"]


def test_a_session_that_stays_busy_for_opencode_alone_meets_the_deadline(scene):
    scene.driver.answers = [{"ses_1": {"type": "retry"}}] * 100
    assert deadline(settle, scene, 0.01) == (
        "after 0.01 s still waiting for: OpenCode says that session ses_1 is retry"
    )
    assert kinds(scene) == []


def test_an_unscripted_request_ends_it_early(scene):
    add(scene, "exchange.received", "fake", number=1, session="main", reply=None)
    add(scene, "exchange.unscripted", number=1)
    settle(scene, 5)
    assert "settled" not in kinds(scene)
    assert scene.asked == []


def test_an_unused_reply_is_waited_for_a_while_and_left_to_the_invariants(scene, monkeypatch):
    monkeypatch.setattr(steps, "STALL", 0.06)
    scene.stage.left = [unused()]
    last = add(scene, "todo.updated")
    settle(scene, 5)
    assert kinds(scene)[-1] == "settled"
    assert scene.timeline.last.at - last.at >= 0.06


def test_a_deadline_names_every_open_part(scene):
    add(scene, "prompt", "runner", "ses_2")
    add(scene, "exchange.received", "fake", number=7, session="main", reply=2)
    busy(scene)
    add(scene, "api.request", id=1, call="session.abort")
    add(scene, "timer.open", id=1, ms=75)
    scene.stage.gates = ["middle"]
    scene.stage.left = [unused("work", 3, 1, 2)]
    assert deadline(settle, scene, 0.01) == (
        "after 0.01 s still waiting for: exchange 7 is open (session main, reply 2); session ses_1 is busy; "
        "OpenCode has not taken up 1 accepted prompt(s) of session ses_2; "
        "the guard's call session.abort (ses_1) is in flight; a timer of the guard (75 ms) is running; "
        "gate middle is closed; reply 3 of session work is unused (1 of 2)"
    )


def test_a_deadline_without_silence_says_so(scene, monkeypatch):
    monkeypatch.setattr(steps, "QUIET", 60.0)
    add(scene, "todo.updated")
    assert deadline(settle, scene, 0.01).endswith("for: silence: something is still being reported")


def test_a_deadline_that_has_passed_does_not_undo_what_is_settled(scene):
    settle(scene, 0)
    assert kinds(scene) == ["settled"]


def test_the_end_of_opencode_ends_it(scene):
    scene.program.up = False
    with pytest.raises(CrashError) as caught:
        settle(scene, 5)
    assert str(caught.value) == "OpenCode ended by itself with exit code -11; it printed:\nboom"


def test_after_a_kill_nobody_is_asked(scene):
    scene.program.up, scene.ended = False, True
    settle(scene, 5)
    assert kinds(scene) == ["settled"]
    assert scene.asked == ["flush"]


# -- catching up


def test_catching_up_waits_for_the_probes_last_event_on_the_event_stream(scene, monkeypatch):
    monkeypatch.setattr(steps, "CATCH_UP_SECONDS", 0.01)
    busy(scene)
    published(scene, "evt_1")
    catch_up(scene)
    scene.tools.control.late = lambda: idle(scene)
    assert deadline(catch_up, scene) == (
        "after 0.01 s still waiting for: OpenCode's event stream to bring event evt_2, which its process has published"
    )
    published(scene, "evt_2")
    catch_up(scene)


@pytest.mark.parametrize("up", [True, False])
def test_what_a_killed_process_published_is_not_waited_for(scene, monkeypatch, up):
    monkeypatch.setattr(steps, "CATCH_UP_SECONDS", 0.0)
    busy(scene)
    add(scene, "exit", "runner", None, expected=True)
    scene.program.up = up
    catch_up(scene)
    assert scene.asked == ["flush"]


def test_an_event_stream_that_ended_is_not_waited_for(scene):
    busy(scene)
    scene.program.closed.set()
    with pytest.raises(CrashError, match=r"^OpenCode's event stream ended: no JSON$"):
        catch_up(scene)


# -- the steps


def play(scene, seconds=5.0):
    for step in scene.scenario.steps:
        do(scene, step, seconds)


def test_send(at):
    scene = at("steps: [{send: Go.}, {send: Stop., session: work}]")
    play(scene)
    told = [(e.kind, e.session, dict(e.data)) for e in scene.timeline.entries]
    assert told == [
        ("prompt", "ses_1", {"step": 1, "text": "Go."}),
        ("step", None, {"step": 1, "kind": "send"}),
        ("prompt", "ses_2", {"step": 2, "text": "Stop."}),
        ("step", None, {"step": 2, "kind": "send"}),
    ]
    asked = ["create guardlab main", "bind ses_1 main", "send ses_1 Go."]
    assert scene.asked == [*asked, "create guardlab work", "bind ses_2 work", "send ses_2 Stop."]
    assert scene.sessions == {"ses_1": "main", "ses_2": "work"}


def test_a_prompt_is_over_when_the_run_is_settled(at):
    scene = at("steps: [{prompt: Go.}]")
    on_wait(scene, lambda: add(scene, "message.user"), lambda: busy(scene), lambda: idle(scene),
            lambda: published(scene, "evt_2"))  # fmt: skip
    play(scene)
    assert [k for k in kinds(scene) if k in ("prompt", "settled", "step")] == ["prompt", "settled", "step"]


def test_sessions(at):
    scene = at("steps: [{new_session: work}, {abort: , session: work}, {delete_session: work}, abort]")
    play(scene)
    assert scene.asked == [
        "create guardlab work", "bind ses_1 work", "abort ses_1", "delete_session ses_1",
        "create guardlab main", "bind ses_2 main", "abort ses_2",
    ]  # fmt: skip
    assert kinds(scene) == ["step"] * 4


def test_gates_are_released_where_they_hold(at):
    scene = at(
        "opencode: {api: {session.status: {gate: status}, session.abort: {gate: middle}}}\n"
        "steps: [{release: status}, {release: middle}]"
    )
    play(scene)
    assert scene.asked == ["release api status", "release middle", "release api middle"]


@pytest.mark.parametrize(
    ("text", "missing", "kind", "data"),
    [
        ("{gate: middle}", "gate middle", "exchange.gate", {"gate": "middle"}),
        ("{gate: middle}", "gate middle", "api.gate", {"gate": "middle", "id": 1}),
        ("{api_call: session.abort}", "1 call(s) of session.abort", "api.request", {"id": 1, "call": "session.abort"}),
        ("{permission: bash}", "a permission request for bash", "permission.asked", {"id": "p", "permission": "bash"}),
        ("{requests: 1}", "requests", "exchange.received", REQUEST),
    ],
)  # fmt: skip
def test_wait_for(at, text, missing, kind, data):
    scene = at(f"steps: [{{wait_for: {text}}}]")
    scene.sessions["ses_1"] = "main"
    said = deadline(play, scene, 0.0)
    assert said == f"after 0 s still waiting for: {missing} (open: nothing)"
    add(scene, kind, **{key: "other" if isinstance(value, str) else value for key, value in data.items()})
    if kind != "exchange.received":
        assert deadline(play, scene, 0.0).startswith(f"after 0 s still waiting for: {missing} (open: ")
    add(scene, kind, **data)
    play(scene, 0.0)
    assert kinds(scene)[-1] == "step"


def test_wait_for_several_calls(at):
    scene = at("steps: [{wait_for: {api_call: {call: session.status, times: 2}}}]")
    add(scene, "api.request", id=1, call="session.status")
    assert deadline(play, scene, 0.0) == (
        "after 0 s still waiting for: 2 call(s) of session.status "
        "(open: the guard's call session.status (ses_1) is in flight)"
    )
    add(scene, "api.request", id=2, call="session.status")
    play(scene, 0.0)


def test_wait_for_idle(at):
    scene = at("steps: [{wait_for: {idle: main}}]")
    scene.sessions["ses_1"] = "main"
    busy(scene)
    assert deadline(play, scene, 0.0) == (
        "after 0 s still waiting for: session main to be idle (open: session ses_1 is busy)"
    )
    idle(scene)
    play(scene, 0.0)


def test_wait_for_settled(at):
    scene = at("steps: [{wait_for: settled}]")
    play(scene)
    assert kinds(scene) == ["settled", "step"]


def test_an_unscripted_request_ends_every_wait(at):
    scene = at("steps: [{wait_for: {gate: middle}}, {permission: always}]")
    add(scene, "exchange.unscripted", number=1)
    play(scene, 0.0)
    assert scene.asked == [], "nothing was answered that was not asked"


def test_a_permission_is_answered_once_and_the_oldest_first(at):
    scene = at(
        "steps: [{permission: once}, {permission: {reply: reject, action: edit, message: No.}}, {permission: always}]"
    )
    for identity, action in (("per_1", "bash"), ("per_2", "bash"), ("per_3", "edit")):
        add(scene, "permission.asked", "events", id=identity, permission=action)
    scene.driver.reply = lambda *given: (
        scene.asked.append(given),
        add(scene, "permission.replied", "events", requestID=given[0], reply=given[1]),
    )
    play(scene, 0.0)
    assert scene.asked == [("per_1", "once", None), ("per_3", "reject", "No."), ("per_2", "always", None)]


def test_a_permission_that_is_not_asked_for(at):
    scene = at("steps: [{permission: always}]")
    assert deadline(play, scene, 0.0) == (
        "after 0 s still waiting for: a permission request for anything (open: nothing)"
    )


def test_kill(at):
    scene = at("steps: [kill]")
    exchange = SimpleNamespace()
    scene.stage.open_exchanges = (exchange,)
    assert deadline(play, scene, 0.0) == (
        "after 0 s still waiting for: the fake model's streams to see that OpenCode is gone"
    )
    assert scene.asked == ["flush", "mark_killed", "kill"], "the fake is told before, or it would say `client`"
    assert (scene.ended, scene.timeline.last.kind, scene.timeline.last.data) == (True, "exit", {"expected": True})
    scene.stage.open_exchanges = ()
    play(scene, 0.0)


@pytest.mark.parametrize("text", ["steps: [kill, restart]", "steps: [restart]"])
def test_restart(at, text):
    scene = at(text)
    busy(scene)
    published(scene, "evt_1")
    play(scene)
    assert scene.asked == ["flush", "mark_killed", "kill", "close", "mark_started", "start", "watch True"]
    assert (scene.ended, scene.alive, scene.program.drivers) == (False, True, 1)
    settle(scene, 1)


# -- opencode run


class Child:
    alive = False
    returncode = 1

    def output(self):
        return (
            'Error: x\n{"type":"text","timestamp":1000,"sessionID":"ses_1","part":{"messageID":"msg_1","text":"hi"}}\n'
        )

    def tail(self):
        return "the tail"


def test_a_prompt_of_opencode_run(tmp_path):
    child = Child()
    home = SimpleNamespace(environment=dict, root=tmp_path)
    program = OneShot(SimpleNamespace(path="opencode"), home, SimpleNamespace(spawn=lambda *_a, **_k: child), {})
    scene = a_scene(tmp_path, "opencode: {via: run}\nsteps: [{prompt: Go.}]", program)
    before = time.monotonic() - time.time() + 1.0
    play(scene)
    assert kinds(scene) == ["prompt", "message.updated", "message.part.updated", "exit", "step"]
    part = scene.timeline.entries[2]
    assert (part.session, part.source) == ("ses_1", "events")
    assert part.at == pytest.approx(before, abs=0.5), "its own time, placed on the run's clock"
    assert scene.timeline.entries[3].data == {"expected": True, "code": 1}
    assert scene.program_facts == {"exit": 1, "stderr": "Error: x"}
    assert scene.sessions == {"ses_1": "main"}


def test_opencode_run_that_does_not_end(tmp_path):
    child = Child()
    child.alive = True
    home = SimpleNamespace(environment=dict, root=tmp_path)
    program = OneShot(SimpleNamespace(path="opencode"), home, SimpleNamespace(spawn=lambda *_a, **_k: child), {})
    scene = a_scene(tmp_path, "opencode: {via: run}\nsteps: [{prompt: Go.}]", program)
    assert deadline(play, scene, 0.0) == (
        "after 0 s still waiting for: opencode run to end (open: nothing); it printed:\nthe tail"
    )
