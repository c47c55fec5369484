"""Measures what a warm server is worth: one task of six model requests, done six ways in turn within one run.

The task is five bash calls and an answer. `warm server` is a scenario as pytest plays it, checks and report included,
its folders laid out while another one plays; `without quiet` leaves out the silence that a settled run asks for;
`process each` is the first in a process of its own. `bare client` checks nothing: what OpenCode itself takes on the
warm server. `opencode run` is the process alone, in a workspace that was laid out before, in a home of ours; `plain
new home` is the same without what the hermetic home spares OpenCode (there, too, nothing leaves the machine). The
ways take turns, so that whatever else the machine does falls on all of them.

The scenario asks for 300 ms of silence, the least that is usual. One that expects an absence, be it by an exact count,
lasts 0.7 s longer by itself.

    python -m tests.benchmarks.warm_server [--rounds 5] [--raw FILE]

`--raw` writes every single time as a line of JSON: round, way, seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from harness.lab import Lab
from harness.opencode.config import config_of
from harness.opencode.oneshot import OneShot
from harness.opencode.workspace import Workspace
from harness.scenario.loader import load
from harness.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemodel.stage import Stage
    from harness.opencode.isolation import Home
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
SECONDS = 120.0
SPEED_UPS = ("OPENCODE_", "XDG_", "npm_config_")


class Ways:
    """The six ways to do the task; each returns the seconds that it took, or fails if it was not done right."""

    def __init__(self, lab: Lab, scenario: Scenario) -> None:
        self.lab = lab
        self.scenario = scenario
        self.prompt = str(scenario.steps[0].value)

    def warm_server(self) -> float:
        """Play the scenario on the lab's server."""
        return self._played(self.scenario)

    def without_quiet(self) -> float:
        """Play it and stop as soon as nothing is open: what the harness itself adds to OpenCode's time."""
        return self._played(self._with(quiet=0.0))

    def process_each(self) -> float:
        """Play it in a process of its own."""
        return self._played(self._with(isolation="process"))

    def bare_client(self) -> float:
        """Let a client that checks nothing ask the lab's server: what OpenCode itself takes in a fresh workspace."""
        with self.lab.pool.lend(alone=False, environment={}) as server:
            workspace, stage = self._laid_out(server.home, Path(tempfile.mkdtemp(dir=self.lab.root)) / "workspace")
            idle = threading.Event()
            server.events.watch(str(workspace.root), lambda kind, _: idle.set() if kind == "session.idle" else None)
            driver = server.driver(workspace.root)
            began = time.perf_counter()
            driver.send(driver.create_session("bare"), self.prompt)
            ended = idle.wait(SECONDS)
            took = time.perf_counter() - began
            driver.dispose()
            driver.close()
            server.events.watch(str(workspace.root), None)
            assert ended, f"the bare client's turn did not end within {SECONDS:g} s"
            assert not stage.unused()
            stage.close()
        return took

    def hermetic_home(self) -> float:
        """Run the process in a new home of ours."""
        return self._one_shot(self.lab.pool.make_home())

    def plain_home(self) -> float:
        """Run it in a new home as OpenCode itself would find and fill it."""
        home = self.lab.pool.make_home()
        plain = {name: value for name, value in home.environment().items() if not name.startswith(SPEED_UPS)}
        return self._one_shot(replace(home, _environment=plain))

    def _with(self, **head: object) -> Scenario:
        return replace(self.scenario, head=self.scenario.head.model_copy(update=head))

    def _played(self, scenario: Scenario) -> float:
        # As `play` leaves it for the one that it is told comes next, had that run been long enough.
        self.lab._next = self.lab._prepare(scenario)
        self.lab._next.props.result()
        began = time.perf_counter()
        run = self.lab.play(scenario)
        took = time.perf_counter() - began
        assert run.passed, run.report()
        return took

    def _one_shot(self, home: Home) -> float:
        workspace, stage = self._laid_out(home, home.root / "workspace")
        program = OneShot(self.lab.binary, home, self.lab.supervisor, {})
        began = time.perf_counter()
        child = program.start(workspace.root, self.prompt)
        ended = child.wait(SECONDS)
        took = time.perf_counter() - began
        assert ended, f"opencode run did not end within {SECONDS:g} s; {child.tail()}"
        assert child.returncode == 0, child.output()
        assert not stage.unused(), child.output()
        stage.close()
        return took

    def _laid_out(self, home: Home, folder: Path) -> tuple[Workspace, Stage]:
        workspace = Workspace.create(folder, {}, home=home, version=self.lab.binary.version)
        stage = self.lab.tools.model.open(self.scenario.script)
        config = config_of(base_url=stage.base_url(), shell=home.shell, probe=None, guards=(), extra={})
        workspace.write_config({**config, "plugin": []})
        return workspace, stage


def measure(rounds: int) -> list[dict[str, Any]]:
    """Do the task in every way, `rounds` times in turn; the first start of the server is not measured."""
    with tempfile.TemporaryDirectory() as folder, Lab(Settings.from_environment(os.environ)) as lab:
        path = Path(folder) / "task.scenario.yaml"
        path.write_text(TASK, encoding="utf-8")
        ways = Ways(lab, load(path))
        ways.warm_server()
        named: dict[str, Callable[[], float]] = {
            "warm server": ways.warm_server,
            "without quiet": ways.without_quiet,
            "process each": ways.process_each,
            "bare client": ways.bare_client,
            "opencode run": ways.hermetic_home,
            "plain new home": ways.plain_home,
        }
        return [
            {"round": number, "way": way, "seconds": round(do(), 3)}
            for number in range(1, rounds + 1)
            for way, do in named.items()
        ]


def table(times: list[dict[str, Any]]) -> Table:
    """Lay out median, p95 and the ratio to the first way."""
    shown = Table("way", "median", "p95", "times the first", title="six model requests, seconds")
    by_way: dict[str, list[float]] = {}
    for one in times:
        by_way.setdefault(one["way"], []).append(one["seconds"])
    first = statistics.median(next(iter(by_way.values())))
    for way, seconds in by_way.items():
        median = statistics.median(seconds)
        p95 = statistics.quantiles(seconds, n=20, method="inclusive")[-1]
        shown.add_row(way, f"{median:.2f}", f"{p95:.2f}", f"{median / first:.1f}")
    return shown


def main() -> None:
    """Measure, print, and keep the raw times where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="at least 2")
    parser.add_argument("--raw", type=Path, metavar="FILE", help="write every time as a line of JSON")
    options = parser.parse_args()
    times = measure(options.rounds)
    Console().print(table(times))
    if options.raw:
        options.raw.write_text("".join(json.dumps(one) + "\n" for one in times), encoding="utf-8")


if __name__ == "__main__":
    main()
