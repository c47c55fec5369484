"""Measures what a warm server is worth: the same scenarios, done six ways in turn within one run.

`warm server` is a scenario as pytest plays it, checks and report included; `without quiet` leaves out the silence that
a settled run asks for; `process each` is the first in a process of its own. `bare client` checks nothing: what OpenCode
itself takes on the warm server for the same requests. `opencode run` is the process alone, in a home of ours; `plain
new home` is the same without what the hermetic home spares OpenCode (there, too, nothing leaves the machine). The ways
take turns, so that whatever else the machine does falls on all of them.

    python -m tests.benchmarks.warm_server [--rounds 5] [--raw FILE] [--suite N [--times FILE]]

Without `--suite` one task is done, of five bash calls and an answer, that asks for 300 ms of silence, the least that is
usual. `--suite N` takes N scenarios of the suite: those that are one prompt to a server are put in order of their time
and cut into N parts, and of each part the first is taken that every way can do (after an abort `opencode run` ends with
an error); what is left out is named. `--times` is the junit file of a run of the suite, which is played first without
it. `--raw` writes every single time as a line of JSON: round, scenario, way, seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from harness.lab import Lab
from harness.runner import plays_alone
from harness.scenario.loader import load
from harness.settings import Settings
from tests.benchmarks.quickest import by_time, play_all
from tests.benchmarks.ways import Undone, Ways, answered_by_one_prompt

if TYPE_CHECKING:
    from harness.scenario.model import Scenario

TASK = """\
format: 1
title: Five commands and an answer
quiet: 300ms
script:
  - rotate:
      - bash: {command: git status --short}
      - bash: {command: git log --oneline}
      - bash: {command: git branch --list}
      - bash: {command: git diff --stat}
      - bash: {command: git remote}
    times: 5
  - say: Nothing has changed.
steps:
  - prompt: Check the repository.
expect:
  - executed: {tool: bash, times: 5}
  - answer: Nothing has changed.
"""


def spread(junit: Path, wanted: int, ways: Ways) -> list[Scenario]:
    """Choose scenarios of the suite by their time: of each of `wanted` parts the quickest that every way can do."""
    fitting = [one for one in by_time(junit) if not plays_alone(one) and answered_by_one_prompt(one)]
    ends = [len(fitting) * part // wanted for part in range(wanted + 1)]
    parts = [fitting[begin:end] for begin, end in pairwise(ends)]
    return [one for part in parts for one in islice((one for one in part if _all_do(ways, one)), 1)]


def _all_do(ways: Ways, scenario: Scenario) -> bool:
    for way, do in ways.named().items():
        try:
            do(scenario)
        except Undone as why:
            Console().print(f"left out: {scenario.name}, which {way} does not do: {str(why)[:200]}", markup=False)
            return False
    return True


def measure(scenarios: list[Scenario], rounds: int, ways: Ways) -> list[dict[str, Any]]:
    """Do every scenario in every way, `rounds` times in turn."""
    return [
        {"round": number, "scenario": one.name, "way": way, "seconds": round(do(one), 3)}
        for number in range(1, rounds + 1)
        for one in scenarios
        for way, do in ways.named().items()
    ]


def table(times: list[dict[str, Any]], scenarios: int) -> Table:
    """Lay out the seconds a scenario: median, p95, mean, and the mean's ratio to the first way's."""
    title = f"seconds a scenario, of {scenarios} scenarios"
    shown = Table("way", "median", "p95", "mean", "times the first", title=title)
    by_way: dict[str, list[float]] = {}
    for one in times:
        by_way.setdefault(one["way"], []).append(one["seconds"])
    first = statistics.mean(next(iter(by_way.values())))
    for way, seconds in by_way.items():
        p95 = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
        mean = statistics.mean(seconds)
        numbers = (statistics.median(seconds), p95, mean, mean / first)
        shown.add_row(way, *(f"{number:.2f}" for number in numbers))
    return shown


def main() -> None:
    """Measure, print, and keep the raw times where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="at least 2")
    parser.add_argument("--raw", type=Path, metavar="FILE", help="write every time as a line of JSON")
    parser.add_argument("--suite", type=int, metavar="N", help="take N scenarios of the suite")
    parser.add_argument("--times", type=Path, metavar="FILE", help="the junit file of a run of the suite")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        junit = options.times or Path(folder) / "junit.xml"
        if options.suite and not options.times:
            play_all(junit)
        task = Path(folder) / "task.scenario.yaml"
        task.write_text(TASK, encoding="utf-8")
        with Lab(Settings.from_environment(os.environ)) as lab:
            ways = Ways(lab)
            ways.warm_server(load(task))  # the first start of the server is not measured
            scenarios = spread(junit, options.suite, ways) if options.suite else [load(task)]
            times = measure(scenarios, options.rounds, ways)
    Console().print(table(times, len(scenarios)))
    if options.raw:
        options.raw.write_text("".join(json.dumps(one) + "\n" for one in times), encoding="utf-8")


if __name__ == "__main__":
    main()
