"""Collects, when the steps are over, what nobody reports while it happens: logs, commands, files, unused replies."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from harness.timeline import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from harness.guards import Installed
    from harness.opencode.isolation import Home
    from harness.scene import Scene

__all__ = ["ERROR_LEVEL", "SESSION", "Tail", "collect", "commands", "log_of", "logs", "workspace_facts"]

SMALL_FILE = 20_000
ERROR_LEVEL = "level=ERROR"
SESSION = re.compile(r"ses_\w+")
# The recording shell takes its time from the system's clock and a file's date; the two differ by less than this.
SHELL_ERROR = 0.005


class Tail:
    """What is written to a file from now on; a warm server appends the logs of many scenarios to one file."""

    def __init__(self, path: Path) -> None:
        """Remember where the file ends; it need not exist yet."""
        self._path = path
        self._start = path.stat().st_size if path.exists() else 0

    def lines(self) -> list[str]:
        """Give the lines so far; none of a file that is not there."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._start)
                return file.read().decode("utf-8", errors="replace").splitlines()
        except OSError:
            return []


def log_of(guard: Installed, home: Home) -> Path | None:
    """Say where our own guard logs: `logFile` in OpenCode's global config folder (contract INF-61)."""
    if guard.name != "infinity":
        return None
    chosen = guard.spec[1].get("logFile") if isinstance(guard.spec, list) else None
    name = chosen if isinstance(chosen, str) and chosen.strip() else "loop-detector.log"  # a bad one is not used
    return home.root / "config" / "opencode" / name


def collect(scene: Scene) -> dict[str, Any]:
    """Add the last entries and give everything that the run knows beside its entries."""
    for entry in (*commands(scene), *logs(scene)):
        scene.timeline.add(entry.lane, entry.kind, entry.source, data=entry.data, at=entry.at, error=entry.error)
    log = scene.log.lines()
    return {
        **scene.standing_facts(),
        **scene.program_facts,
        "unused": _unused(scene),
        "api_faults": list(scene.scenario.head.opencode.api),
        **workspace_facts(scene),
        "log": log,
        "error_lines": [line for line in log if ERROR_LEVEL in line and _is_ours(scene, line)],
    }


def _is_ours(scene: Scene, line: str) -> bool:
    """Tell this scenario's lines from those of the one before, which OpenCode may write late."""
    session = SESSION.search(line)
    return session is None or any(entry.session == session[0] for entry in scene.timeline.entries)


def commands(scene: Scene) -> list[Entry]:
    """Give what the recording shell wrote so far, placed on the run's clock."""
    offset = time.monotonic() - time.time()
    return [
        Entry(
            0, ran.at + offset, "opencode", "shell", "shell", count,
            data={"folder": ran.folder, "command": ran.command, "call": ran.call}, error=SHELL_ERROR,
        )
        for count, ran in enumerate(scene.props.shell.records(), 1)
    ]  # fmt: skip


def workspace_facts(scene: Scene) -> dict[str, Any]:
    """Give the workspace's files as they are now: their hashes, and the texts of the small ones."""
    files = scene.props.workspace.contents()
    return {"files": files, "contents": _small_files(scene, files)}


def logs(scene: Scene) -> list[Entry]:
    """Give what the guards have logged so far, as seen now."""
    now = time.monotonic()
    lines = ((guard, line) for guard, log in scene.guard_logs for line in log.lines())
    return [
        Entry(0, now, "guard", "log", "runner", count, data={"guard": guard, "line": line})
        for count, (guard, line) in enumerate(lines, 1)
    ]


def _unused(scene: Scene) -> list[dict[str, Any]]:
    return [
        {"session": one.session, "reply": one.reply, "used": one.used, "wanted": one.wanted}
        for one in scene.stage.unused()
    ]


def _small_files(scene: Scene, names: Iterable[str]) -> dict[str, str]:
    """Give the texts of the workspace's small files, for expectations that look into them."""
    texts = {name: _text(scene.props.workspace.root / name) for name in names}
    return {name: text for name, text in texts.items() if text is not None}


def _text(path: Path) -> str | None:
    """Read a small file; None for a large or binary one, and for one that has vanished or can't be read."""
    try:
        return None if path.stat().st_size > SMALL_FILE else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
