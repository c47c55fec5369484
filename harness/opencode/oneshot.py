"""`opencode run`: one prompt, one process, which ends at the first idle."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from harness.opencode.binary import Binary
    from harness.opencode.isolation import Home
    from harness.process.supervisor import Child, Supervisor

__all__ = ["OneShot", "Said"]


@dataclass(frozen=True, slots=True)
class Said:
    """What a process printed: `events` its JSON lines (opencode-facts.md I), `stderr` its standard error."""

    events: list[dict[str, Any]]
    stderr: str


@dataclass(slots=True)
class OneShot:
    """Runs prompts of one scenario as a user of the command line does; each process continues the one before.

    Fields: `home` the hermetic home that they share; `environment` is laid over the home's; `children` the processes.
    """

    binary: Binary
    home: Home
    supervisor: Supervisor
    environment: dict[str, str]
    children: list[Child] = field(default_factory=list)

    def start(self, workspace: Path, text: str) -> Child:
        """Start `opencode run` with a prompt.

        The words go as arguments of their own: one argument with a space reaches the model in quotes (opencode-facts.md
        F.4). The title suppresses the title request.
        """
        again = ["--continue"] if self.children else ["--title", "guardlab main"]
        child = self.supervisor.spawn(
            [str(self.binary.path), "run", "--format", "json", *again, "--", *text.split(" ")],
            env={**self.home.environment(), **self.environment},
            cwd=workspace,
            log=self.home.root / "run.log",
            errors=self._errors(len(self.children)),
            name="opencode run",
        )
        self.children.append(child)
        return child

    def stop(self) -> None:
        """End the processes that still run, each with its tree, and remove the home."""
        with ExitStack() as last:  # one that can't be stopped does not keep the others alive
            last.callback(shutil.rmtree, self.home.root, ignore_errors=True)
            for child in self.children:
                last.callback(self.supervisor.stop, child)

    def said(self, child: Child) -> Said:
        """Read what a process has printed so far."""
        events = [event for line in child.output().splitlines() if (event := _event(line))]
        errors = self._errors(self.children.index(child))
        return Said(events, errors.read_text(encoding="utf-8", errors="replace"))

    def _errors(self, number: int) -> Path:
        return self.home.root / f"run-{number}.stderr"


def _event(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) and "type" in value else None
