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
    """Return if every guard of the scenario is loaded in the process that was started last (DESIGN.md, "Loaded").

    That is: its private entry was evaluated to its end, and OpenCode neither published a load error (the only sign of a
    module that fails to import) nor logged one (the only sign of an init that throws; opencode-facts.md A.5).
    Raises NotLoadedError with what OpenCode said, DeadlineError when the instance does not boot.
    """
    born, _ = scene.born
    # The config hook runs after every plugin was initialised (opencode-facts.md L).
    scene.timeline.wait(
        lambda: any(e.kind == "config" for e in scene.timeline.since(born)),
        BOOT_SECONDS,
        lambda: "the probe, which OpenCode loads first",
    )
    scene.tools.control.flush()
    evaluated = {e.data["url"] for e in scene.timeline.since(born) if e.kind == "loaded"}
    for guard in scene.props.guards:
        said = _refusal(scene, guard)
        if said:
            raise _not_loaded(guard, f": {said}")
        if guard.entry.as_uri() not in evaluated:
            why = f": OpenCode reported no error, but {guard.entry.name} was never evaluated to its end"
            raise _not_loaded(guard, why)


def check_log(scene: Scene) -> None:
    """Return if OpenCode's log tells of no guard that it refused.

    OpenCode writes its log late, up to seconds under load (seen in 1 of 850 short runs). A session is created, and goes
    on after a restart, when the plugins were initialised: once a line says so, a refusal would be there too. The log of
    a process that was killed may never get so far.
    Raises NotLoadedError with what OpenCode said, DeadlineError when the line does not come.
    """
    entries, lines = scene.born
    if entries:
        going = [f"session.id={e.session} " for e in scene.timeline.since(entries) if e.kind == "message.user"]
    else:
        going = [f"created id={session} " for session, name in dict(scene.sessions).items() if name == "main"]
    if going and scene.alive:
        scene.timeline.wait(
            lambda: any(words in line for line in scene.log.lines()[lines:] for words in going),
            LOG_SECONDS,
            lambda: f"OpenCode's log to say {going[0]!r}",
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
