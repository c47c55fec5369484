"""`guardlab judge`: judges a saved run again, as it was judged when it ran."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.common import exit_code, outcome_of, output, scenario_at, timeline_at
from harness.report.summary import count_line
from harness.runner import judge
from harness.timeline import Record

if TYPE_CHECKING:
    import argparse

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Print the report, or that all passed. Raises SetupError for a file that is no scenario or no timeline."""
    scenario = scenario_at(Path(options.scenario))
    again = judge(scenario, Record.load(timeline_at(Path(options.timeline))))
    outcomes = [outcome_of(scenario, again.failures())]
    console = output()
    console.print(again.report(), end="")
    console.print(count_line(outcomes))
    return exit_code(outcomes)
