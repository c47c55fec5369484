"""The proof that a guard is at work in OpenCode; without it nothing that was seen means anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import NotLoadedError

if TYPE_CHECKING:
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
    scene.timeline.wait(
        lambda: any(e.kind == "config" for e in scene.timeline.entries),
        BOOT_SECONDS,
        lambda: "the probe, which OpenCode loads first",
    )
    scene.tools.control.flush()
    evaluated = {e.data["guard"] for e in scene.timeline.entries if e.kind == "loaded"}
    for guard in scene.props.guards:
        said = _refusal(scene, guard)
        if said:
            raise NotLoadedError(
                f"guard {guard.name} is not loaded: {said}", f"OpenCode was told to load {guard.source}."
            )
        if guard.name not in evaluated:
            raise NotLoadedError(
                f"guard {guard.name} is not loaded: OpenCode reported no error, "
                f"but {guard.entry.name} was never evaluated to its end",
                f"OpenCode was told to load {guard.source}.",
            )


def _refusal(scene: Scene, guard: Installed) -> str | None:
    root = str(guard.root)

    def public(text: str) -> str:
        """Name the guard's own files, not those of its private copy."""
        if guard.source.is_file():
            text = text.replace(str(guard.entry), str(guard.source))
        return text.replace(root, str(guard.source if guard.source.is_dir() else guard.source.parent))

    for entry in scene.timeline.entries:
        if entry.kind == "session.error" and not entry.session:
            text = str(((entry.data.get("error") or {}).get("data") or {}).get("message", ""))
            if REFUSED in text and root in text:
                return public(text)
    for line in scene.log.lines():
        if LOGGED in line and root in line:
            return public(line)
    return None
