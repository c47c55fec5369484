"""`--hold`: keeps OpenCode up after a run, and says how to look at it."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from harness.opencode.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.scene import Scene

__all__ = ["Hold", "attach_line"]


class Hold:
    """Waits until its user presses Enter (or Ctrl-C, or the input ends), with OpenCode and the fake model still up."""

    def __init__(self, say: Callable[[str], object]) -> None:
        """Keep what prints a line where its user reads it."""
        self._say = say

    def __call__(self, scene: Scene) -> None:
        """Say how to attach, and wait."""
        self._say("")
        if not scene.alive:
            self._say("there is nothing to hold: OpenCode has ended")
            return
        self._say("OpenCode is held. Look at it from another terminal:")
        self._say(f"  {attach_line(scene)}")
        self._say("Press Enter to end. What you do meanwhile is no part of the run.")
        with suppress(KeyboardInterrupt):
            sys.stdin.readline()


def attach_line(scene: Scene) -> str:
    """Give the shell command that opens the run's main session in OpenCode's own interface."""
    program = scene.program
    assert isinstance(program, Server)  # noqa: S101 - only a server is alive after its run
    main = scene.living("main")
    words = [str(program.binary.path), "attach", program.address, "--dir", scene.directory]
    words += ["--session", main] if main else []
    # opencode-facts.md H: the server asks for a password, and its client reads it from this variable.
    return program.home.system.command_line(words, {"OPENCODE_SERVER_PASSWORD": program.home.password})
