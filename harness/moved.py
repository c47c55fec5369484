"""Asks an OpenCode of any version whether the facts still hold that the harness and the guards are built on."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import NotLoadedError
from harness.scenario.loader import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.lab import Lab
    from harness.report.run import Run

__all__ = ["Fact", "examine_facts"]

FACTS = Path(str(files("harness"))) / "facts"
# This one holds when its plugin is refused, in the words that the loaded proof looks for.
REFUSED = "load-errors"


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact and whether it holds.

    Fields: `name` its file below harness/facts; `title` the fact; `holds`; `report` what was seen instead, as a failed
    scenario tells it.
    """

    name: str
    title: str
    holds: bool
    report: str


def examine_facts(lab: Lab) -> Iterator[Fact]:
    """Play one small scenario a fact. Raises what `Lab` raises when OpenCode cannot be had at all."""
    for path in sorted(FACTS.glob("*.yaml")):
        scenario = load(path, shown_as=f"harness/facts/{path.name}")
        run = lab.play(scenario)
        holds = _refused(run) if path.stem == REFUSED else run.passed
        yield Fact(path.stem, scenario.head.title, holds, "" if holds else run.report() or "its plugin was loaded")


def _refused(run: Run) -> bool:
    return isinstance(run.error, NotLoadedError) and "boom at import" in run.error.message
