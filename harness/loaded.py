"""The proof that a guard is at work in OpenCode; without it nothing that was seen means anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.errors import NotLoadedError

if TYPE_CHECKING:
    from harness.guards import Installed
    from harness.scene import Scene

__all__ = ["BOOT_SECONDS", "check_loaded", "check_log"]

BOOT_SECONDS = 15.0
LOG_SECONDS = 15.0
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
    evaluated = {e.data["url"] for e in scene.timeline.entries if e.kind == "loaded"}
    for guard in scene.props.guards:
        said = _refusal(scene, guard)
        if said:
            raise _not_loaded(guard, f": {said}")
        if guard.entry.as_uri() not in evaluated:
            why = f": OpenCode reported no error, but {guard.entry.name} was never evaluated to its end"
            raise _not_loaded(guard, why)


def check_log(scene: Scene) -> None:
    """Return if OpenCode's log, as far as the creation of the main session, tells of no guard that it refused.

    OpenCode writes its log late, up to seconds under load (seen in 1 of 850 short runs). A session is created after the
    plugins were initialised, so once its line is there, a refusal would be there too. The log of a process that was
    killed may never get so far.
    Raises NotLoadedError with what OpenCode said, DeadlineError when the line does not come.
    """
    created = [f"created id={session} " for session, name in dict(scene.sessions).items() if name == "main"]
    killed = any(entry.kind == "exit" for entry in scene.timeline.entries)
    if created and scene.alive and not killed:
        scene.timeline.wait(
            lambda: any(created[0] in line for line in scene.log.lines()),
            LOG_SECONDS,
            lambda: f"OpenCode's log to say {created[0]!r}",
        )
    for guard in scene.props.guards:
        said = _refusal(scene, guard)
        if said:
            raise _not_loaded(guard, f": {said}")


def _not_loaded(guard: Installed, why: str) -> NotLoadedError:
    return NotLoadedError(f"guard {guard.name} is not loaded{why}", f"OpenCode was told to load {guard.source}.")


def _refusal(scene: Scene, guard: Installed) -> str | None:
    """Give what OpenCode said of the guard's files. It names them by URL or by path, and these may differ."""
    names = (guard.root.as_uri(), str(guard.root))

    def about(text: str) -> bool:
        return any(name in text for name in names)

    for entry in scene.timeline.entries:
        if entry.kind == "session.error" and not entry.session:
            text = str(((entry.data.get("error") or {}).get("data") or {}).get("message", ""))
            if REFUSED in text and about(text):
                return _public(text, guard)
    for line in scene.log.lines():
        if LOGGED in line and about(line):
            return _public(line, guard)
    return None


def _public(text: str, guard: Installed) -> str:
    """Name the guard's own files, not those of its private copy."""
    folder = guard.source if guard.source.is_dir() else guard.source.parent
    places = [(guard.root, folder)] if guard.source.is_dir() else [(guard.entry, guard.source), (guard.root, folder)]
    for private, own in places:
        text = text.replace(private.as_uri(), own.as_uri()).replace(str(private), str(own))
    return text
