"""What each step of a scenario does."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from standin import a_scene, add, busy, deadline, idle, kinds, on_wait, published

from harness.errors import SetupError
from harness.evidence import Tail
from harness.opencode.oneshot import OneShot
from harness.settling import settle
from harness.steps import do

pytestmark = pytest.mark.usefixtures("no_waiting")
REQUEST = {"number": 1, "kind": "main", "session": "main", "reply": 1}


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


def test_a_name_is_free_again_when_its_session_is_deleted(at):
    scene = at(
        "steps: [{send: Go., session: work}, {delete_session: work}, {new_session: work}, {send: On., session: work}]"
    )
    play(scene)
    assert scene.asked == [
        "create guardlab work", "bind ses_1 work", "send ses_1 Go.", "delete_session ses_1",
        "create guardlab work", "bind ses_2 work", "send ses_2 On.",
    ]  # fmt: skip
    assert scene.sessions == {"ses_1": "work", "ses_2": "work"}, "the name stands for both in what was seen"


def test_what_is_not_there_is_not_deleted(at):
    scene = at("steps: [{send: Go., session: work}, {delete_session: work}]")
    play(scene)
    with pytest.raises(SetupError, match=r"^delete_session: there is no session work\n"):
        do(scene, scene.scenario.steps[1], 1)


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
        ("{gate: middle}", "gate middle", "exchange.invalid", {"gate": "middle", "invariant": "unreached_point"}),
        ("{api_call: session.abort}", "1 call(s) of session.abort", "api.request", {"id": 1, "call": "session.abort"}),
        ("{permission: bash}", "a permission request for bash", "permission.asked", {"id": "p", "permission": "bash"}),
        ("{permission: bash}", "a permission request for bash", "permission.v2.asked", {"id": "p", "action": "bash"}),
        ("{requests: 1}", "requests: exactly 1 request; so far: 0 requests", "exchange.received", REQUEST),
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
        "after 0 s still waiting for: session main to be idle (open: session main is busy)"
    )
    idle(scene)
    play(scene, 0.0)


def test_a_session_with_a_prompt_is_not_idle_before_it_is_taken_up(at):
    scene = at("steps: [{send: Go.}, {wait_for: {idle: main}}]")
    do(scene, scene.scenario.steps[0], 0.0)
    wait, missing = scene.scenario.steps[1], "after 0 s still waiting for: session main to be idle (open: "
    assert deadline(do, scene, wait, 0.0) == (
        f"{missing}OpenCode has not taken up 1 accepted prompt(s) of session main)"
    )
    add(scene, "message.user")
    assert deadline(do, scene, wait, 0.0) == f"{missing}session main has a new message but did not start)"
    busy(scene)
    assert deadline(do, scene, wait, 0.0) == f"{missing}session main is busy)"
    idle(scene)
    do(scene, wait, 0.0)


def test_a_session_that_was_deleted_is_not_idle(at):
    scene = at("steps: [{send: Go., session: work}, {delete_session: work}, {wait_for: {idle: work}}]")
    assert deadline(play, scene, 0.0).startswith("after 0 s still waiting for: session work to be idle")


def test_wait_for_what_a_guard_logs(at, tmp_path):
    scene = at("guard: infinity\nsteps: [{wait_for: {log: {contains: aborted}}}]")
    path = tmp_path / "guard.log"
    scene.guard_logs = (("infinity", Tail(path)),)
    path.write_text("blocked\n")
    assert deadline(play, scene, 0.0) == (
        'after 0 s still waiting for: log: a line with "aborted"; so far: none of 1 line (open: nothing)'
    )
    path.write_text("blocked\naborted\n")
    play(scene, 0.0)
    assert kinds(scene) == ["deadline", "step"], "a look leaves the timeline alone"


def test_wait_for_settled(at):
    scene = at("steps: [{wait_for: settled}]")
    play(scene)
    assert kinds(scene) == ["settled", "step"]


def test_an_unscripted_request_ends_every_wait(at):
    scene = at("steps: [{wait_for: {gate: middle}}, {permission: always}]")
    add(scene, "exchange.unscripted", number=1)
    play(scene, 0.0)
    assert scene.asked == [], "nothing was answered that was not asked"


def answering(scene, kind):
    def reply(request, answer, message, *, session):
        scene.asked.append((request, answer, message, session))
        add(scene, kind, "events", requestID=request, reply=answer)

    scene.driver.reply = reply


def test_a_permission_is_answered_once_and_the_oldest_first(at):
    scene = at(
        "steps: [{permission: once}, {permission: {reply: reject, action: edit, message: No.}}, {permission: always}]"
    )
    for identity, action in (("per_1", "bash"), ("per_2", "bash"), ("per_3", "edit")):
        add(scene, "permission.asked", "events", id=identity, permission=action)
    answering(scene, "permission.replied")
    play(scene, 0.0)
    assert scene.asked == [
        ("per_1", "once", None, None), ("per_3", "reject", "No.", None), ("per_2", "always", None, None),
    ]  # fmt: skip


def test_a_question_of_the_second_form_is_answered_in_its_session(at):
    scene = at("steps: [{permission: {reply: reject, action: doom_loop}}, {permission: once}]")
    add(scene, "permission.v2.asked", "events", "ses_9", id="per_1", action="doom_loop")
    add(scene, "permission.v2.asked", "events", "ses_9", id="per_2", action="bash")
    answering(scene, "permission.v2.replied")
    play(scene, 0.0)
    assert scene.asked == [("per_1", "reject", None, "ses_9"), ("per_2", "once", None, "ses_9")]


def test_an_answer_counts_when_opencode_has_said_so(at):
    """Two steps in a row would else answer the same question, which OpenCode does not know any more."""
    scene = at("steps: [{permission: once}, {permission: once}]")
    for identity in ("per_1", "per_2"):
        add(scene, "permission.asked", "events", id=identity, permission="bash")
    scene.driver.reply = lambda request, *_given, session: scene.asked.append((request, session))
    assert deadline(play, scene, 0.0) == (
        "after 0 s still waiting for: OpenCode to say that the question per_1 was answered (open: nothing)"
    )
    assert scene.asked == [("per_1", None)]


def test_a_question_of_a_killed_process_waits_for_no_answer(at):
    scene = at("steps: [{permission: once}]")
    add(scene, "permission.asked", "events", id="per_1", permission="bash")
    add(scene, "exit", "runner", None, expected=True)
    assert deadline(play, scene, 0.0).startswith("after 0 s still waiting for: a permission request for anything")
    add(scene, "permission.asked", "events", id="per_2", permission="bash")
    answering(scene, "permission.replied")
    play(scene, 0.0)
    assert scene.asked == [("per_2", "once", None, None)]


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
    ended = scene.timeline.entries[0]
    assert (scene.ended, ended.kind, ended.data) == (True, "exit", {"expected": True})
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
        return '{"type":"text","timestamp":1000,"sessionID":"ses_1","part":{"messageID":"msg_1","text":"hi"}}\n'

    def tail(self):
        return "the tail"


def running(folder, text, *children):
    """Set the scene for `opencode run`, whose processes are `children`."""
    left = iter(children)

    def spawn(_command, *, errors, **_given):
        errors.write_text("Error: x\n")
        return next(left)

    home = SimpleNamespace(environment=dict, root=folder)
    binary = SimpleNamespace(path="opencode", version="1.18.33")
    program = OneShot(binary, home, SimpleNamespace(spawn=spawn), {})
    return a_scene(folder, f"opencode: {{via: run}}\n{text}", program)


def test_a_prompt_of_opencode_run(tmp_path):
    scene = running(tmp_path, "steps: [{prompt: Go.}]", Child())
    before = time.monotonic() - time.time() + 1.0
    play(scene)
    assert kinds(scene) == ["prompt", "message.updated", "message.part.updated", "exit", "step"]
    part = scene.timeline.entries[2]
    assert (part.session, part.source) == ("ses_1", "events")
    assert part.at == pytest.approx(before, abs=0.5), "its own time, placed on the run's clock"
    assert scene.timeline.entries[3].data == {"expected": True, "code": 1}
    assert scene.program_facts == {"stderr": "Error: x\n"}
    assert scene.sessions == {"ses_1": "main"}


def test_every_process_of_opencode_run_is_kept(tmp_path):
    first, second = Child(), Child()
    second.returncode = 0
    scene = running(tmp_path, "steps: [{prompt: Go.}, {prompt: Go on.}]\nexpect: [{exit: 0}]", first, second)
    play(scene)
    assert [e.data for e in scene.timeline.entries if e.kind == "exit"] == [
        {"expected": True, "code": 1}, {"expected": True, "code": 0},
    ]  # fmt: skip
    assert scene.program_facts == {"stderr": "Error: x\nError: x\n"}
    verdict = scene.scenario.checks[0].expectation.judge(scene.snapshot())
    assert (verdict.status, verdict.actual) == ("fail", "exit codes 1, 0")


def test_a_signal_is_no_expected_end_of_opencode_run(tmp_path):
    child = Child()
    child.returncode = -4
    scene = running(tmp_path, "steps: [{prompt: Go.}]", child)
    play(scene)
    assert scene.timeline.entries[3].data == {"expected": False, "code": -4}


def test_opencode_run_that_does_not_end(tmp_path):
    child = Child()
    child.alive = True
    scene = running(tmp_path, "steps: [{prompt: Go.}]", child)
    assert deadline(play, scene, 0.0) == (
        "after 0 s still waiting for: opencode run to end (open: nothing); it printed:\nthe tail\nError: x"
    )
