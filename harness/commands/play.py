"""`guardlab play`: plays scenarios without pytest, a line for each, then what failed and a count by kind."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from fakemodel.loading import SourceError
from harness.asked import again, described, elsewhere, guard_at
from harness.commands.common import exit_code, outcome_of, output, settings_from
from harness.corpus import named
from harness.errors import SetupError
from harness.hold import Hold
from harness.lab import Lab
from harness.report.ci import marks, row, write_summary
from harness.report.failure import render
from harness.report.outcome import kept_failures
from harness.report.places import shown
from harness.report.summary import Outcome, count_line
from harness.scenario import SUFFIX
from harness.scenario.loader import load

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console

    from harness.report.failure import Failure
    from harness.scenario.model import Scenario

__all__ = ["run", "scenario_files"]


def run(options: argparse.Namespace) -> int:
    """Play what the paths name.

    Raises SetupError when nothing can be played: a mistake in one file keeps all from being played, as the user would
    read the result of something else than what was asked for.
    """
    scenarios = _load(scenario_files(map(Path, options.paths)))
    if options.hold and len(scenarios) != 1:
        raise SetupError(f"--hold holds one scenario, {len(scenarios)} are to be played", "Name one file.")
    guard = guard_at(options.guard, Path.cwd())
    console = output()
    with Lab(settings_from(options), guard=guard) as lab:
        console.print(described(lab.binary))
        player = _Player(lab, console, _asked(options))
        try:
            for number, scenario in enumerate(scenarios):
                player.play(scenario, scenarios[number + 1 :], hold=options.hold)
        finally:
            player.tell_end()
    return exit_code(player.outcomes)


def _asked(options: argparse.Namespace) -> Mapping[str, object]:
    """Give the options that change what a scenario does."""
    return {
        "--guard": options.guard,
        "--opencode-binary": options.opencode_binary,
        "--opencode-version": options.opencode_version,
        "--step-timeout": options.step_timeout,
    }


def scenario_files(paths: Iterable[Path]) -> list[Path]:
    """Find the scenario files: those named, and those in the folders named, each once, in order; `corpus` is our own.

    Raises SetupError for a path that does not exist and for a folder without any.
    """
    found: dict[Path, Path] = {}
    for path in chain.from_iterable(map(named, paths)):
        below = _below(path) if path.is_dir() else [path]
        if not path.exists():
            raise SetupError(f"{path} does not exist", f"Name a file *{SUFFIX}, or a folder of them.")
        if not below:
            raise SetupError(f"no file *{SUFFIX} lies in {path}", "`guardlab new` writes a first one.")
        for file in below:
            found.setdefault(file.resolve(), file)
    return list(found.values())


def _below(folder: Path) -> list[Path]:
    """Find the files in a folder; hidden folders and installed packages hold none of the user's own."""
    return sorted(
        path
        for path in folder.rglob(f"*{SUFFIX}")
        if not any(part.startswith(".") or part == "node_modules" for part in path.relative_to(folder).parts)
    )


def _load(files: Iterable[Path]) -> list[Scenario]:
    scenarios, mistakes = [], []
    for file in files:
        try:
            scenarios.append(load(file, shown_as=shown(file)))
        except SourceError as error:
            mistakes.append(str(error))
    if mistakes:
        raise SetupError("\n".join(["nothing was played:", *mistakes]))
    return scenarios


class _Player:
    """Plays one after the other and tells each at once; reports come at the end, where they are read."""

    def __init__(self, lab: Lab, console: Console, asked: Mapping[str, object]) -> None:
        self.outcomes: list[Outcome] = []
        self._lab = lab
        self._console = console
        self._asked = asked
        self._failures: list[list[Failure]] = []

    def play(self, scenario: Scenario, following: Sequence[Scenario], *, hold: bool) -> None:
        file = scenario.document.file
        self._console.print(f"{file} ", end="")
        if reason := elsewhere(scenario):
            self._console.print(f"skipped ({reason})", style="yellow")
            self.outcomes.append(Outcome(file, scenario.head.proves, skipped=True))
            return
        upcoming = next((one for one in following if not elsewhere(one)), None)
        run = self._lab.play(scenario, upcoming=upcoming, hold=Hold(self._console.print) if hold else None)
        failures = kept_failures(run, self._lab.settings, file, again("guardlab play", file, self._asked))
        outcome = outcome_of(scenario, failures)
        style = "red" if failures else "green"
        self._console.print(f"{outcome.failed or 'passed'} ({run.seconds:.1f} s)", style=style)
        self.outcomes.append(outcome)
        if failures:
            self._failures.append(failures)

    def tell_end(self) -> None:
        """Print what failed and the count, to GitHub too where it listens."""
        for failures in self._failures:
            self._console.print(f"\n{render(failures)}", end="")
        every = [failure for failures in self._failures for failure in failures]
        for mark in marks(every, os.environ):
            self._console.print(mark)
        line = count_line(self.outcomes)
        self._console.print(line)
        write_summary([row(failure) for failure in every], [line], os.environ)
