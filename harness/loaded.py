"""The proof that a guard is at work in OpenCode; without it nothing that was seen means anything."""

from __future__ import annotations

from harness.errors import NotLoadedError
from harness.guards import Installed
from harness.scene import Scene

__all__ = ["BOOT_SECONDS", "check_loaded"]

BOOT_SECONDS = 15.0
REFUSED = "Failed to load plugin"
LOGGED = "failed to load plugin"


def check_loaded(scene: Scene) -> None:
    """Return if every guard of the scenario is loaded (DESIGN.md, "Loaded").

    That is: its private entry was evaluated to its end, and OpenCode neither published a load error (the only sign of a
    module that fails to import) nor logged one (the only sign of an init that throws; opencode-facts.md A.5).
    Raises NotLoadedError with what OpenCode said, DeadlineError when the instance does not boot.
    """
    # The config hook runs after every plugin was initialised (opencode-facts.md L).
    scene.timeline.wait(lambda: any(e.kind == "config" for e in scene.timeline.entries), BOOT_SECONDS, lambda: "the probe, which OpenCode loads first")
    scene.tools.control.flush()
    evaluated = {e.data["guard"] for e in scene.timeline.entries if e.kind == "loaded"}
    for guard in scene.guards:
        said = _refusal(scene, guard)
        if said:
            raise NotLoadedError(f"guard {guard.name} is not loaded: {said}", f"OpenCode was told to load {guard.source}.")
        if guard.name not in evaluated:
            raise NotLoadedError(
                f"guard {guard.name} is not loaded: OpenCode reported no error, but {guard.entry.name} was never evaluated to its end",
                f"OpenCode was told to load {guard.source}.",
            )


def _refusal(scene: Scene, guard: Installed) -> str | None:
    root = str(guard.root)
    for entry in scene.timeline.entries:
        if entry.kind == "session.error" and not entry.session:
            text = str(((entry.data.get("error") or {}).get("data") or {}).get("message", ""))
            if REFUSED in text and root in text:
                return text.replace(root, str(guard.source))
    for line in scene.log_lines():
        if LOGGED in line and root in line:
            return line.replace(root, str(guard.source))
    return None
