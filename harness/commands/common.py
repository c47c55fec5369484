"""What several commands need: settings from options, where saved runs lie, and plain output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.console import Console

from fakemodel.loading import SourceError
from harness.errors import SetupError
from harness.report.failure import kind_of
from harness.report.places import shown
from harness.report.summary import Outcome
from harness.scenario.loader import load
from harness.settings import Settings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from harness.report.failure import Failure
    from harness.scenario.model import Scenario

__all__ = ["exit_code", "outcome_of", "output", "scenario_at", "settings_from", "timeline_at"]

TIMELINE = "timeline.ndjson"


def output() -> Console:
    """Give a console that prints texts as they are: nothing in them is markup, and no line is broken."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def settings_from(options: argparse.Namespace) -> Settings:
    """Read the options of `play` and `doctor` and the environment. Raises SetupError for values that cannot work."""
    return Settings.from_environment(
        os.environ,
        binary=options.opencode_binary,
        version=options.opencode_version,
        keep_runs=getattr(options, "keep_runs", None),
        step_timeout=getattr(options, "step_timeout", None),
    )


def outcome_of(scenario: Scenario, failures: Sequence[Failure]) -> Outcome:
    """Say what became of a scenario, for the count and the exit code."""
    return Outcome(scenario.document.file, scenario.head.proves, kind_of(failures))


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """Give 0 when all passed, 2 when those that did not could not even begin, else 1."""
    failed = {outcome.failed for outcome in outcomes} - {None}
    return 0 if not failed else 2 if failed == {"setup"} else 1


def scenario_at(path: Path) -> Scenario:
    """Read a scenario file. Raises SetupError with every mistake in it."""
    try:
        return load(path, shown_as=shown(path))
    except SourceError as error:
        raise SetupError(str(error)) from error


def timeline_at(path: Path) -> Path:
    """Find the timeline of a saved run: the file itself, or the one in the folder of a run. Raises SetupError."""
    file = path / TIMELINE if path.is_dir() else path
    if not file.is_file():
        raise SetupError(f"{file} does not exist", "`guardlab play --keep-runs always` keeps it under .guardlab.")
    return file
