"""`guardlab judge`: judges a saved run again, as it was judged when it ran."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.common import output, scenario_at, timeline_at
from harness.expectations.words import count_words
from harness.report.summary import Outcome, count_line
from harness.runner import judge
from harness.timeline import Record

if TYPE_CHECKING:
    import argparse

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Print the report, or that all passed. Raises SetupError for a file that is no scenario or no timeline."""
    scenario = scenario_at(Path(options.scenario))
    again = judge(scenario, Record.load(timeline_at(Path(options.timeline))))
    failures = again.failures()
    console = output()
    console.print(again.report(), end="")
    file = scenario.document.file
    console.print(f"{file}: {count_words(len(again.verdicts), 'expectation')} judged")
    console.print(count_line([Outcome(file, failed=failures[0].kind if failures else None)]))
    return 1 if failures else 0
