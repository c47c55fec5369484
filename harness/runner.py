"""The story of one scenario, top to bottom: set the scene, prove the guard, do the steps, freeze, judge."""

from __future__ import annotations

import time
import traceback
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fakemodel.server import FakeModelError
from harness.errors import CrashError, DeadlineError, GuardlabError, NotLoadedError, SetupError
from harness.evidence import collect
from harness.guards import shares_modules
from harness.invariants import broken
from harness.loaded import check_loaded, check_log
from harness.opencode.oneshot import OneShot
from harness.opencode.server import Server
from harness.report.run import Run
from harness.scene import Scene, opened
from harness.settling import catch_up, settle
from harness.steps import do
from harness.timeline import Record, Timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from harness.lab import Lab
    from harness.props import Props
    from harness.scenario.model import Scenario

__all__ = ["judge", "play", "plays_alone"]

LEAVE_SECONDS = 2.0
GONE_SECONDS = 0.5  # a process that dies closes its connections before its end can be seen
UNEXPECTED = "guardlab did not expect this. If nothing fails on this machine (a full disk?), it is guardlab's mistake."
ERRORS = {kind.kind: kind for kind in (SetupError, NotLoadedError, DeadlineError, CrashError)}


def play(
    scenario: Scenario,
    lab: Lab,
    props: Callable[[], Props],
    hold: Callable[[Scene], None] | None = None,
    until: float | None = None,
) -> Run:
    """Play one scenario and judge it.

    `props` lays out its folders, `hold` is called before OpenCode is left, `until` is when its time is up.
    """
    began = time.monotonic()
    timeline = Timeline(until)
    facts: dict[str, Any] = {"version": lab.binary.version, "allow": list(scenario.head.allow)}
    sessions: dict[str, str] = {}
    held: Record | None = None
    attempts = len(lab.egress.attempts)
    try:
        with (
            _program(scenario, lab) as program,
            opened(scenario, props(), program, lab.tools, timeline) as scene,
        ):
            sessions = scene.sessions
            try:
                _perform(scene, lab)
            except Exception as error:
                _tell(facts, error)
                raise
            finally:
                with ExitStack() as last:
                    last.callback(_leave, scene, lab, facts)
                    facts |= collect(scene)
                    if hold:
                        held = timeline.freeze(sessions, facts)  # what happens while it is held is no part of the run
                        hold(scene)
    except Exception as error:  # noqa: BLE001 - whatever it is, the run is told and its processes are swept
        _tell(facts, error)
    facts |= _left(lab, attempts)
    record = replace(held, facts=facts) if held else timeline.freeze(sessions, facts)
    return judge(scenario, record, seconds=time.monotonic() - began)


def _left(lab: Lab, attempts: int) -> dict[str, Any]:
    """Give what outlived the run and what went wrong beside it; `attempts` to leave the machine came before it."""
    return {
        "survivors": [one.command_line for one in lab.supervisor.sweep(lab.pool.running, LEAVE_SECONDS)],
        "ports": lab.pool.left_open(LEAVE_SECONDS),
        "troubles": lab.take_troubles(),
        "egress": [f"{a.host}:{a.port}" for a in lab.egress.attempts[attempts:]],
    }


def _tell(facts: dict[str, Any], error: Exception) -> None:
    """Note what ended the run. The first error says why; what goes wrong after it follows from it."""
    if isinstance(error, FakeModelError):
        error = CrashError(str(error))
    elif not isinstance(error, GuardlabError):
        at = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(at.filename).name}:{at.lineno}, in {at.name}: {at.line}"
        error = CrashError(f"{type(error).__name__}: {error} ({place})", UNEXPECTED)
    told = {"kind": error.kind, "message": error.message, "hint": error.hint, "key": error.key}
    facts.setdefault("error", told)


def judge(scenario: Scenario, record: Record, *, seconds: float = 0.0) -> Run:
    """Judge a record, live or saved: the error that ended the run, the invariants, then what the scenario expects.

    A run that could not begin, or whose guard is not at work, proves nothing: its expectations are not judged. Nor are
    those of a run that ended before the first prompt: that nothing was seen says nothing about the scenario.
    """
    told = record.facts.get("error")
    error = ERRORS[told["kind"]](told["message"], told["hint"], told.get("key", "")) if told else None
    if isinstance(error, NotLoadedError | SetupError):
        return Run(scenario, record, error, (), (), seconds)
    began = not error or record.of("prompt")
    verdicts = tuple((check, check.expectation.judge(record)) for check in scenario.checks if began)
    return Run(scenario, record, error, tuple(broken(record, scenario.head.allow)), verdicts, seconds)


def plays_alone(scenario: Scenario) -> bool:
    """Whether a scenario gets a process of its own: it asks for one, or others would meet its guard's modules again."""
    return scenario.isolated or any(shares_modules(use) for use in scenario.guards)


@contextmanager
def _program(scenario: Scenario, lab: Lab) -> Iterator[Server | OneShot]:
    """Give OpenCode as the scenario wants it: a server, warm or of its own, or `opencode run`."""
    options = scenario.head.opencode
    if options.via == "run":
        program = OneShot(lab.binary, lab.pool.make_home(), lab.supervisor, dict(options.env))
        try:
            yield program
        finally:
            program.stop()
        return
    with lab.pool.lend(alone=plays_alone(scenario), environment=options.env) as server:
        yield server


def _perform(scene: Scene, lab: Lab) -> None:
    limit = scene.scenario.head.step_timeout or lab.settings.step_timeout
    if isinstance(scene.program, Server):
        scene.session("main")
        check_loaded(scene)
    # A guard whose init threw is only told in the log, late. It wins over whatever else went wrong.
    try:
        _do_steps(scene, limit)
    except GuardlabError:
        with suppress(DeadlineError):  # a log that says nothing does not hide the error
            check_log(scene)
        raise
    check_log(scene)


def _do_steps(scene: Scene, limit: float) -> None:
    for step in scene.scenario.steps:
        do(scene, step, limit)
        if scene.activity.unscripted:
            return
        if step.kind == "restart":
            scene.driver.status()  # the instance boots, and loads its plugins, at the first request
            check_loaded(scene)
    if scene.alive and not _settled_last(scene):
        settle(scene, limit)
    catch_up(scene)
    check_loaded(scene)
    killed = any(entry.kind == "exit" for entry in scene.timeline.entries)
    if scene.alive and not killed and not scene.tools.control.reaches(scene.directory):
        raise CrashError("the probe's connection to OpenCode's process ended: what came after it was not seen")


def _settled_last(scene: Scene) -> bool:
    last = scene.scenario.steps[-1]
    return last.kind == "prompt" or (last.kind == "wait_for" and last.value.settled)


def _leave(scene: Scene, lab: Lab, facts: Mapping[str, Any]) -> None:
    """Leave the server clean for the next scenario: no turn goes on and no plugin of this one lives.

    An OpenCode that ended by itself is told, unless an error of the run tells it.
    """
    if not isinstance(scene.program, Server) or scene.ended:
        return
    try:
        for gate in scene.stage.waiting_gates():
            scene.stage.release(gate)
        for session in scene.driver.status():
            scene.driver.abort(session)
        scene.driver.dispose()
    except GuardlabError:
        if scene.alive and not scene.server.child.wait(GONE_SECONDS):
            # A server that cannot be left clean is not used again; what was seen has been recorded already.
            lab.pool.discard(scene.server)
        elif "error" not in facts:
            code = scene.server.child.returncode
            scene.timeline.add("opencode", "exit", "runner", data={"expected": False, "code": code})
