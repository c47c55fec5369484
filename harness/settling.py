"""When a run is over: nothing is open, OpenCode agrees, and everything that was said has been heard."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from harness.errors import CrashError

if TYPE_CHECKING:
    from harness.scenario.model import Step
    from harness.scene import Scene

__all__ = ["QUIET", "QUIET_FOR_ABSENCE", "catch_up", "open_parts", "settle"]

QUIET = 0.3
QUIET_FOR_ABSENCE = 1.0
# Nothing is open, yet a required reply was not used: only something that nobody sees (a timer of another library) could
# still use it. Waiting out the whole deadline for that would make every wrong script slow.
STALL = 3.0
CATCH_UP_SECONDS = 10.0
SILENCE = "silence: something is still being reported"


def settle(scene: Scene, seconds: float, *, step: Step | None = None) -> None:
    """Wait until the run is settled (DESIGN.md), or until it can no longer get there.

    It ends early, without an error, at an unscripted request and when nothing is open but a required reply stays
    unused: the invariants tell both. Replies may be meant for a prompt that comes after `step`: until then only the
    quiet that an absence asks for tells that none is to come. Raises DeadlineError with every open part otherwise.
    """
    began = time.monotonic()
    patience = QUIET_FOR_ABSENCE if step and _prompts_after(scene, step) else STALL
    busy: list[str] = []

    def ready() -> bool:
        still = _still(scene, patience)
        busy[:] = _called_busy(scene) if still and not scene.activity.unscripted else ()
        return still and not busy

    while True:
        scene.timeline.wait(ready, seconds, lambda: "; ".join(busy) or open_parts(scene) or SILENCE, since=began)
        before = scene.timeline.last
        if scene.activity.unscripted:
            return
        catch_up(scene)
        if scene.timeline.last is before:
            scene.timeline.add("user", "settled", "runner")
            return


def catch_up(scene: Scene) -> None:
    """Wait until everything that OpenCode has said so far is in the timeline.

    The probe answers after its last entry. The event stream lags by up to some 50 ms (opencode-facts.md C), so
    the last event that the probe has seen must have come there too.
    """
    scene.tools.control.flush()
    if not scene.alive:
        return
    events = scene.server.events
    if events.closed.is_set():
        raise CrashError(f"OpenCode's event stream ended: {events.error or 'OpenCode closed it'}")
    entries = scene.timeline.entries
    # What a process published before it was killed may never come.
    born = max((e.seq for e in entries if e.kind == "exit"), default=0)
    seen = [e.data["id"] for e in entries[born:] if e.kind == "hook.event"]
    if seen:
        last = seen[-1]
        scene.timeline.wait(
            lambda: any(e.data.get("_id") == last for e in reversed(scene.timeline.entries)),
            CATCH_UP_SECONDS,
            lambda: f"OpenCode's event stream to bring event {last}, which its process has published",
        )


def _called_busy(scene: Scene) -> list[str]:
    """Ask OpenCode itself: the probe saw every session become idle, and this must agree."""
    states = scene.driver.status() if scene.alive else {}
    said = [f"OpenCode says that session {session} is {state.get('type')}" for session, state in states.items()]
    return [scene.named(one) for one in said]


def _prompts_after(scene: Scene, step: Step) -> bool:
    return any(later.kind in ("prompt", "send") for later in scene.scenario.steps[step.index + 1 :])


def _still(scene: Scene, patience: float) -> bool:
    """Whether nothing is open and nothing was heard for long enough: `patience` seconds while a reply is unused."""
    pending = scene.pending()
    if scene.activity.unscripted:
        return True
    if not (scene.alive or scene.ended):
        child = scene.server.child
        raise CrashError(f"OpenCode ended by itself with exit code {child.returncode}; it printed:\n{child.tail()}")
    last = scene.timeline.last
    quiet = max(patience, _quiet(scene)) if scene.stage.unused() else _quiet(scene)
    return not pending and (last is None or time.monotonic() - last.at >= quiet)


def _quiet(scene: Scene) -> float:
    given = scene.scenario.head.quiet
    if given is not None:
        return given
    return QUIET_FOR_ABSENCE if scene.scenario.claims_absence else QUIET


def open_parts(scene: Scene) -> str:
    """Name everything that is open, in words for a deadline's message; empty when nothing is."""
    unused = [
        f"reply {u.reply} of session {u.session} is unused ({u.used} of {u.wanted})" for u in scene.stage.unused()
    ]
    gates = [f"gate {name} is closed" for name in scene.stage.waiting_gates()]
    return "; ".join([*scene.pending(), *gates, *unused])
