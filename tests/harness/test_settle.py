"""When a run is settled, and what catching up means."""

from __future__ import annotations

import pytest
from standin import add, busy, deadline, idle, kinds, on_wait, published, unused

from harness import settling
from harness.errors import CrashError, DeadlineError
from harness.settling import catch_up, settle

pytestmark = pytest.mark.usefixtures("no_waiting")


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
        monkeypatch.setattr(settling, constant, 0.06)
    last = add(scene, "todo.updated")
    settle(scene, 5)
    assert scene.timeline.last.at - last.at >= 0.06


def test_the_scenarios_own_quiet_wins(at, monkeypatch):
    monkeypatch.setattr(settling, "QUIET", 60.0)
    monkeypatch.setattr(settling, "QUIET_FOR_ABSENCE", 60.0)
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
    assert kinds(scene) == ["deadline"]


def test_an_unscripted_request_ends_it_early(scene):
    add(scene, "exchange.received", "fake", number=1, session="main", reply=None)
    add(scene, "exchange.unscripted", number=1)
    settle(scene, 5)
    assert "settled" not in kinds(scene)
    assert scene.asked == []


def test_an_unused_reply_is_waited_for_a_while_and_left_to_the_invariants(scene, monkeypatch):
    monkeypatch.setattr(settling, "STALL", 0.06)
    scene.stage.left = [unused()]
    last = add(scene, "todo.updated")
    settle(scene, 5)
    assert kinds(scene)[-1] == "settled"
    assert scene.timeline.last.at - last.at >= 0.06


def test_a_reply_that_a_later_prompt_may_use_is_not_waited_out(at, monkeypatch):
    monkeypatch.setattr(settling, "STALL", 60.0)
    monkeypatch.setattr(settling, "QUIET_FOR_ABSENCE", 0.06)
    scene = at("steps: [{prompt: Go.}, {wait_for: settled}, {send: On.}]")
    scene.stage.left = [unused()]
    last = add(scene, "todo.updated")
    for step in scene.scenario.steps[:2]:
        settle(scene, 5, step=step)
        assert scene.timeline.last.at - last.at >= 0.06
    with pytest.raises(DeadlineError):
        settle(scene, 0.01, step=scene.scenario.steps[2])


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
    monkeypatch.setattr(settling, "QUIET", 60.0)
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
    monkeypatch.setattr(settling, "CATCH_UP_SECONDS", 0.01)
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
    monkeypatch.setattr(settling, "CATCH_UP_SECONDS", 0.0)
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
