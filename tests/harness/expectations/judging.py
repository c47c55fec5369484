"""Reads one line of a scenario's `expect` as the loader does, and shows its failure as a report does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fakemodel.loading import Document, check, load_text
from harness.expectations import REGISTRY
from harness.report.failure import Failure, render

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from handmade import Story

    from harness.expectations.base import Expectation, Verdict
    from harness.timeline import Record

FILE = "scenarios/case.scenario.yaml"


@dataclass(frozen=True)
class Case:
    """One expectation judged on one record; for fail and unknown, `name` is the golden file's."""

    name: str
    status: str
    line: str
    story: Callable[[], Story]

    @property
    def kind(self) -> str:
        return self.line.split(":")[0]


def document(line: str) -> Document:
    return load_text(f"format: 1\nexpect:\n  - {line}\n", FILE)


def read(line: str) -> Expectation:
    source = document(line)
    (kind,) = source.value["expect"][0]
    return check(source, ("expect", 0, kind), REGISTRY[kind])


def report(line: str, verdict: Verdict, record: Record, root: Path) -> str:
    source = document(line)
    (kind,) = source.value["expect"][0]
    (root / FILE).parent.mkdir(exist_ok=True)
    (root / FILE).write_text(source.text)
    failure = Failure(
        kind="unknown" if verdict.status == "unknown" else "expectation",
        file=FILE,
        span=source.key_spans["expect", 0, kind],
        key=kind,
        problem=verdict,
        record=record,
        artifacts=".guardlab/case",
        reproduce=f"pytest {FILE} --keep-runs=always",
    )
    return render([failure], root)
