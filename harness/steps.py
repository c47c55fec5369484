"""Does the steps of a scenario: each returns when what it names has happened, or fails with what was still open."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from harness.errors import SetupError
from harness.opencode.oneshot import OneShot
from harness.settling import catch_up, open_parts, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.expectations.base import Expectation, Verdict
    from harness.scenario.model import Step
    from harness.scenario.steps import ApiCall, PermissionReply, WaitFor
    from harness.scene import Scene
    from harness.timeline import Entry

__all__ = ["do"]

# An answer that ended before it came to its gate ends the wait too: nothing will hold there, and an invariant tells.
HELD = ("exchange.gate", "api.gate", "exchange.invalid")
# OpenCode asks in two forms, which name the action differently (opencode-facts.md A.6, B).
ASKED_V2 = "permission.v2.asked"
ASKED = ("permission.asked", ASKED_V2)
REPLIED = ("permission.replied", "permission.v2.replied")
ACTION = ("permission", "action")


def do(scene: Scene, step: Step, seconds: float) -> None:
    """Do one step within `seconds`.

    Raises DeadlineError with what was open, CrashError when OpenCode does not answer or is gone.
    """
    doing = _run if isinstance(scene.program, OneShot) else DOING[step.kind]
    doing(scene, step, seconds)
    scene.timeline.add("user", "step", "runner", data={"step": step.index + 1, "kind": step.kind})


def _send(scene: Scene, step: Step, _seconds: float) -> None:
    session = scene.session(step.session)
    scene.timeline.add("user", "prompt", "runner", session=session, data={"step": step.index + 1, "text": step.value})
    scene.driver.send(session, step.value)


def _prompt(scene: Scene, step: Step, seconds: float) -> None:
    _send(scene, step, seconds)
    settle(scene, seconds, step=step)


def _wait_for(scene: Scene, step: Step, seconds: float) -> None:
    wanted: WaitFor = step.value
    if wanted.settled:
        settle(scene, seconds, step=step)
    elif wanted.gate:
        gate = wanted.gate
        _until(scene, seconds, f"gate {gate}", lambda: _has(scene, HELD, gate=gate))
    elif wanted.api_call:
        _until(
            scene,
            seconds,
            f"{wanted.api_call.times} call(s) of {wanted.api_call.call}",
            lambda: _called(scene, wanted.api_call),
        )
    elif wanted.permission:
        action = wanted.permission.action
        _until(scene, seconds, f"a permission request for {action}", lambda: bool(_asked(scene, action)))
    elif wanted.idle:
        name = wanted.idle
        _until(scene, seconds, f"session {name} to be idle", lambda: _is_idle(scene, name))
    else:
        _expectation(scene, wanted.expectation, seconds)


def _expectation(scene: Scene, wanted: Expectation, seconds: float) -> None:
    verdicts: list[Verdict] = []

    def passes() -> bool:
        verdicts[:] = [wanted.judge(scene.snapshot())]
        return verdicts[0].status == "pass"

    def what() -> str:
        return f"{wanted.kind}: {verdicts[0].expected}; so far: {verdicts[0].actual}"

    _until(scene, seconds, what, passes)


def _until(scene: Scene, seconds: float, what: str | Callable[[], str], ready: Callable[[], bool]) -> None:
    """Wait for something that a step names; an unscripted request ends the wait: nothing after it means anything."""

    def reached() -> bool:
        scene.pending()
        return scene.activity.unscripted or ready()

    def pending() -> str:
        return f"{what if isinstance(what, str) else what()} (open: {open_parts(scene) or 'nothing'})"

    scene.timeline.wait(reached, seconds, pending)


def _has(scene: Scene, kinds: tuple[str, ...], **fields: object) -> bool:
    return any(e.kind in kinds and all(e.data.get(k) == v for k, v in fields.items()) for e in scene.timeline.entries)


def _called(scene: Scene, wanted: ApiCall | None) -> bool:
    seen = [e for e in scene.timeline.entries if e.kind == "api.request" and wanted and e.data["call"] == wanted.call]
    return wanted is not None and len(seen) >= wanted.times


def _is_idle(scene: Scene, name: str) -> bool:
    """Whether a session is there (a child may not have begun) and rests."""
    session = scene.living(name)
    return session is not None and scene.activity.rests(session)


def _asked(scene: Scene, action: str | None) -> list[Entry]:
    """Give the questions that wait for an answer. A process that was killed has forgotten its own."""
    entries = scene.timeline.entries
    born = max((entry.seq for entry in entries if entry.kind == "exit"), default=0)
    answered = {entry.data.get("requestID") for entry in entries if entry.kind in REPLIED}
    asked = [entry for entry in entries[born:] if entry.kind in ASKED and entry.data.get("id") not in answered]
    return [entry for entry in asked if action is None or action in (entry.data.get(key) for key in ACTION)]


def _permission(scene: Scene, step: Step, seconds: float) -> None:
    given: PermissionReply = step.value
    _until(
        scene,
        seconds,
        f"a permission request for {given.action or 'anything'}",
        lambda: bool(_asked(scene, given.action)),
    )
    waiting = _asked(scene, given.action)
    if not waiting:
        return
    request, session = str(waiting[0].data["id"]), waiting[0].session if waiting[0].kind == ASKED_V2 else None
    scene.driver.reply(request, given.reply, given.message, session=session)
    # Before OpenCode has said so, the next step would find the same question.
    said = f"OpenCode to say that the question {request} was answered"
    _until(scene, seconds, said, lambda: _has(scene, REPLIED, requestID=request))


def _release(scene: Scene, step: Step, _seconds: float) -> None:
    if step.value in scene.scenario.model_gates:
        scene.stage.release(step.value)
    if step.value in scene.scenario.api_gates:
        scene.tools.control.release(scene.directory, step.value)


def _abort(scene: Scene, step: Step, _seconds: float) -> None:
    scene.driver.abort(scene.session(step.session))


def _new_session(scene: Scene, step: Step, _seconds: float) -> None:
    scene.session(step.value)


def _delete_session(scene: Scene, step: Step, _seconds: float) -> None:
    session = scene.living(step.value)
    if session is None:
        raise SetupError(
            f"delete_session: there is no session {step.value}", "It has not begun, or is deleted already."
        )
    scene.driver.delete_session(session)
    scene.deleted.add(session)


def _kill(scene: Scene, _step: Step, seconds: float) -> None:
    catch_up(scene)
    scene.stage.mark_killed()
    scene.ended = True
    scene.server.kill()
    scene.timeline.add("opencode", "exit", "runner", data={"expected": True})
    scene.timeline.wait(
        lambda: not scene.stage.open_exchanges, seconds, lambda: "the fake model's streams to see that OpenCode is gone"
    )


def _restart(scene: Scene, step: Step, seconds: float) -> None:
    if scene.alive:
        _kill(scene, step, seconds)
    scene.driver.close()
    scene.stage.mark_started()
    scene.born = len(scene.timeline.entries), len(scene.log.lines())
    scene.server.start()
    scene.ended = False
    scene.connect()


def _run(scene: Scene, step: Step, seconds: float) -> None:
    """Do a prompt as `opencode run`: it is over when the process has ended and the fake model's streams have closed."""
    program = scene.program
    assert isinstance(program, OneShot)  # noqa: S101 - `do` looked
    scene.timeline.add("user", "prompt", "runner", data={"step": step.index + 1, "text": step.value})
    child = program.start(scene.props.workspace.root, step.value)

    def pending() -> str:
        printed = f"{child.tail()}\n{program.said(child).stderr}".rstrip()
        return f"opencode run to end (open: {open_parts(scene) or 'nothing'}); it printed:\n{printed}"

    scene.timeline.wait(lambda: not child.alive and not scene.stage.open_exchanges, seconds, pending)
    offset = time.monotonic() - time.time()
    said = program.said(child)
    for event in said.events:
        scene.printed(event, offset)
    scene.program_facts["stderr"] = scene.program_facts.get("stderr", "") + said.stderr
    by_itself = (child.returncode or 0) < 0  # a signal ended it; a code of its own is its answer
    scene.timeline.add("opencode", "exit", "runner", data={"expected": not by_itself, "code": child.returncode})


DOING: Mapping[str, Callable[[Scene, Step, float], None]] = {
    "prompt": _prompt,
    "send": _send,
    "wait_for": _wait_for,
    "release": _release,
    "permission": _permission,
    "abort": _abort,
    "new_session": _new_session,
    "delete_session": _delete_session,
    "restart": _restart,
    "kill": _kill,
}
