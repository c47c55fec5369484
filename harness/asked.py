"""What both ways to play, pytest and `guardlab play`, make of what their user asked for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from harness.errors import SetupError
from harness.process.platform import System

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from harness.opencode.binary import Binary
    from harness.scenario.model import Scenario

__all__ = ["again", "described", "elsewhere", "guard_at"]


def again(program: str, file: str, options: Mapping[str, object]) -> str:
    """Give the command that plays a file again as it was played; an option that is None was not given."""
    given = [f"{name}={value}" for name, value in options.items() if value is not None]
    return shlex.join([*program.split(), file, *given, "--keep-runs=always"])


def guard_at(given: str | None, base: Path) -> Path | None:
    """Find what --guard names. Raises SetupError when nothing is there: no scenario could be played as asked."""
    if not given:
        return None
    guard = base / given
    if not guard.exists():
        raise SetupError(f"--guard: {given} does not exist", "Is the plugin built?")
    return guard


def described(binary: Binary) -> str:
    """Say which OpenCode is used and why."""
    return f"opencode: {binary.version} ({binary.path}, {binary.why})"


def elsewhere(scenario: Scenario) -> str:
    """Say for which systems a scenario is, and which one this is; nothing when it is for this one."""
    systems = scenario.head.systems
    here = System.detect().names if systems else frozenset()
    if here.intersection(systems) or not systems:
        return ""
    return f"for {', '.join(systems)}; this is {', '.join(sorted(here - {'posix'}))}"
