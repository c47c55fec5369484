from __future__ import annotations

import re
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from standin import a_scene

from fakemodel.server import FakeModelError
from harness import runner
from harness.errors import CrashError, DeadlineError, NotLoadedError, SetupError
from harness.runner import _leave, _settled_last, judge
from harness.scenario.loader import loads
from harness.timeline import Entry, Record

TEXT = """\
format: 1
title: One answer
script: [{say: Hello.}]
steps: [{prompt: Go.}]
expect: [{answer: Hello.}, {blocked: {tool: bash, times: 0}}]
"""


PROMPT = Entry(1, 0.0, "user", "prompt", "runner", 1)


def judged(tmp_path, text=TEXT, entries=(PROMPT,), **facts):
    run = judge(loads(text, tmp_path / "x.scenario.yaml"), Record(entries, {}, 0.0, facts), seconds=1.5)
    return run, [one.name for one in run.broken], len(run.verdicts)


def told(error):
    return {"kind": error.kind, "message": error.message, "hint": error.hint}


def test_a_record_is_judged_by_everything(tmp_path):
    run, broken, verdicts = judged(tmp_path, egress=["models.dev:443"])
    assert (run.error, broken, verdicts, run.seconds) == (None, ["egress"], 2, 1.5)


def test_what_a_scenario_allows_is_not_told(tmp_path):
    assert judged(tmp_path, TEXT + "allow: [egress]\n", egress=["models.dev:443"])[1] == []


@pytest.mark.parametrize("error", [DeadlineError("late", "Look."), CrashError("gone")])
def test_an_error_of_the_run_does_not_hide_the_rest(tmp_path, error):
    run, broken, verdicts = judged(tmp_path, error=told(error), survivors=["sleep 60"])
    assert (type(run.error), str(run.error), broken, verdicts) == (type(error), str(error), ["survivor"], 2)


def test_expectations_of_a_run_without_a_prompt_are_not_judged(tmp_path):
    run, broken, verdicts = judged(tmp_path, entries=(), error=told(CrashError("gone")), survivors=["sleep 60"])
    assert (str(run.error), broken, verdicts) == ("gone", ["survivor"], 0)


@pytest.mark.parametrize("error", [NotLoadedError("refused", "Look."), SetupError("no git")])
def test_a_run_that_proves_nothing_is_not_judged(tmp_path, error):
    run, broken, verdicts = judged(tmp_path, error=told(error), survivors=["sleep 60"])
    assert (type(run.error), str(run.error), broken, verdicts) == (type(error), str(error), [], 0)
    assert not run.passed


@pytest.mark.parametrize(
    ("steps", "last"),
    [
        ("[{prompt: Go.}]", True),
        ("[{send: Go.}, {wait_for: settled}]", True),
        ("[{send: Go.}]", False),
        ("[{prompt: Go.}, {wait_for: {gate: middle}}]", False),
        ("[{prompt: Go.}, abort]", False),
    ],
)
def test_who_has_settled_already_does_not_settle_again(tmp_path, steps, last):
    assert _settled_last(a_scene(tmp_path, f"steps: {steps}")) is last


# -- the steps of a run


@pytest.fixture
def played(tmp_path, monkeypatch):
    """Perform steps with the waits noted instead of waited."""

    def perform(text, *, steps=None, log=None, **lab):
        scene = a_scene(tmp_path, text)
        monkeypatch.setattr(runner, "check_loaded", lambda _scene: scene.asked.append("loaded?"))
        monkeypatch.setattr(runner, "check_log", lambda _scene: scene.asked.append("log?"))
        monkeypatch.setattr(runner, "catch_up", lambda _scene: scene.asked.append("catch up"))
        monkeypatch.setattr(runner, "settle", lambda _scene, seconds: scene.asked.append(f"settle {seconds:g}"))

        def do(_scene, step, seconds):
            scene.asked.append(f"{step.kind} {seconds:g}")
            if step.value == "unscripted":
                scene.activity.unscripted = True

        monkeypatch.setattr(runner, "do", steps or do)
        if log:
            monkeypatch.setattr(runner, "check_log", log)
        runner._perform(scene, SimpleNamespace(settings=SimpleNamespace(step_timeout=60.0), **lab))
        return [line for line in scene.asked if not line.startswith(("create", "bind"))]

    return perform


def test_the_guard_is_proven_before_the_first_step_and_after_the_last(played):
    assert played("steps: [{prompt: Go.}]") == ["loaded?", "prompt 60", "catch up", "loaded?", "log?"]


def test_the_guard_is_proven_anew_after_a_restart(played):
    asked = played("steps: [{send: Go.}, kill, restart, {prompt: Go on.}]\nisolation: process")
    assert asked == ["loaded?", "send 60", "kill 60", "restart 60", "status", "loaded?", "prompt 60", "catch up",
                     "loaded?", "log?"]  # fmt: skip


def test_a_run_that_is_not_settled_is_settled_at_the_end(played):
    assert played("steps: [{send: Go.}]\nstep_timeout: 5s") == [
        "loaded?",
        "send 5",
        "settle 5",
        "catch up",
        "loaded?",
        "log?",
    ]


def test_after_an_unscripted_request_nothing_is_done(played):
    assert played("steps: [{send: unscripted}, {send: Go.}]") == ["loaded?", "send 60", "log?"]


def failing(error):
    def fail(*_given):
        raise error

    return fail


def test_a_refusal_that_only_the_log_tells_wins_over_another_error(played):
    with pytest.raises(NotLoadedError):
        played("steps: [{prompt: Go.}]", steps=failing(DeadlineError("late")), log=failing(NotLoadedError("refused")))


def test_a_log_that_says_nothing_does_not_hide_the_error(played):
    with pytest.raises(CrashError, match=r"^gone$"):
        played("steps: [{prompt: Go.}]", steps=failing(CrashError("gone")), log=failing(DeadlineError("no log")))
    with pytest.raises(DeadlineError, match=r"^no log$"):
        played("steps: [{prompt: Go.}]", log=failing(DeadlineError("no log")))


def test_an_interrupted_run_does_not_wait_for_the_log(played):
    def log(_scene):
        pytest.fail("the log was asked")

    with pytest.raises(KeyboardInterrupt):
        played("steps: [{prompt: Go.}]", steps=failing(KeyboardInterrupt()), log=log)


def test_a_run_whose_probe_was_cut_off_proves_nothing(played):
    def cut(scene, _step, _seconds):
        scene.tools.control.linked = False

    def kill(scene, *_given):
        cut(scene, *_given)
        scene.timeline.add("opencode", "exit", "runner", data={"expected": True})

    with pytest.raises(CrashError, match=r"^the probe's connection to OpenCode's process ended"):
        played("steps: [{prompt: Go.}]", steps=cut)
    played("steps: [{prompt: Go.}]", steps=kill)  # the probe of a process that is started again may not have spoken


# -- the whole story


@pytest.fixture
def story(tmp_path, monkeypatch):
    """Play a scene of which something goes wrong; `done` is what was done in spite of it."""
    scene, done = a_scene(tmp_path), []
    lab = SimpleNamespace(
        binary=scene.program.binary,
        egress=SimpleNamespace(attempts=()),
        tools=None,
        pool=SimpleNamespace(running=(), left_open=lambda _seconds: []),
        supervisor=SimpleNamespace(sweep=lambda *_: done.append("sweep") or []),
        take_troubles=list,
    )
    monkeypatch.setattr(runner, "_program", lambda *_: nullcontext(scene.program))
    monkeypatch.setattr(runner, "opened", lambda *_: nullcontext(scene))
    monkeypatch.setattr(runner, "_leave", lambda *_: done.append("leave"))

    def play(*, perform=lambda *_: None, collect=lambda *_: {}, props=lambda: None):
        monkeypatch.setattr(runner, "_perform", perform)
        monkeypatch.setattr(runner, "collect", collect)
        return runner.play(scene.scenario, lab, props), done

    return play


@pytest.mark.parametrize("place", ["perform", "collect", "props"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), FakeModelError("broken")])
def test_whatever_ends_a_run_is_told_and_cleaned_up_after(story, place, error):
    run, done = story(**{place: failing(error)})
    assert isinstance(run.error, CrashError)
    assert done == (["sweep"] if place == "props" else ["leave", "sweep"])


def test_an_error_that_nobody_expects_says_where_it_was(story):
    run, _ = story(collect=failing(OSError(28, "No space left on device")))
    place = r"\(test_runner\.py:\d+, in fail: raise error\)"
    assert re.search(rf"^OSError: \[Errno 28\] No space left on device {place}$", run.error.message)
    assert run.error.hint.startswith("guardlab did not expect this. ")


def test_the_first_error_is_told(story):
    run, done = story(perform=failing(DeadlineError("late", "Look.")), collect=failing(OSError("full")))
    assert (str(run.error), done) == ("late\nLook.", ["leave", "sweep"])


def test_an_interrupt_goes_through_and_leaves(story):
    done = []
    with pytest.raises(KeyboardInterrupt):
        story(perform=failing(KeyboardInterrupt()), collect=lambda _: done.append("collect") or {})
    assert done == ["collect"]


def test_opencode_run_ends_with_its_scenario(tmp_path):
    done = []
    supervisor = SimpleNamespace(stop=done.append)
    home = SimpleNamespace(root=tmp_path / "home-1")
    home.root.mkdir()
    lab = SimpleNamespace(binary=None, pool=SimpleNamespace(make_home=lambda: home), supervisor=supervisor)
    scenario = loads(TEXT + "opencode: {via: run}\n", tmp_path / "x.scenario.yaml")
    with runner._program(scenario, lab) as program:
        program.children.append("child")
    assert done == ["child"]
    assert not home.root.exists()


# -- leaving


@pytest.fixture
def lab():
    discarded = []
    return SimpleNamespace(pool=SimpleNamespace(discard=discarded.append), discarded=discarded)


def test_a_server_is_left_clean(tmp_path, lab):
    scene = a_scene(tmp_path)
    scene.stage.gates = ["middle"]
    scene.driver.answers = [{"ses_1": {"type": "busy"}, "ses_2": {"type": "retry"}}]
    _leave(scene, lab, {})
    assert scene.asked == ["release middle", "status", "abort ses_1", "abort ses_2", "dispose"]
    assert lab.discarded == []


def exits(scene):
    return [entry.data for entry in scene.timeline.entries if entry.kind == "exit"]


def test_a_server_that_cannot_be_left_clean_is_not_used_again(tmp_path, lab):
    scene = a_scene(tmp_path)
    scene.driver.status = failing(CrashError("no answer"))
    _leave(scene, lab, {})
    assert (lab.discarded, exits(scene)) == ([scene.program], [])


@pytest.mark.parametrize(("facts", "told"), [({}, 1), ({"error": {"kind": "crash"}}, 0)])
def test_a_server_that_ended_by_itself_is_told_once(tmp_path, lab, facts, told):
    scene = a_scene(tmp_path)

    def dispose():
        scene.program.up = False
        raise CrashError("no answer")

    scene.driver.dispose = dispose
    _leave(scene, lab, facts)
    assert (lab.discarded, exits(scene)) == ([], [{"expected": False, "code": -11}] * told)


def test_a_server_that_a_step_has_killed_is_not_asked(tmp_path, lab):
    scene = a_scene(tmp_path)
    scene.program.up, scene.ended = False, True
    _leave(scene, lab, {})
    assert (scene.asked, lab.discarded, exits(scene)) == ([], [], [])
