"""What a session says at its end: its scenarios by kind, the clauses that they prove, and what GitHub wants to know."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from harness.contracts import CONTRACTS, SHOWN_BY_TESTS, contract_of
from harness.report.ci import marks, row, write_summary
from harness.report.failure import Failure
from harness.report.summary import Outcome, clause_lines, count_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.scenario.model import Scenario

__all__ = ["for_github", "properties", "tell_end"]

Report: TypeAlias = pytest.TestReport | pytest.CollectReport


def properties(scenario: Scenario) -> list[tuple[str, object]]:
    """Give what an item's reports carry: into the junit file, and from an xdist worker to the controller."""
    return [("guardlab_item", scenario.document.file), ("guardlab_proves", " ".join(scenario.head.proves))]


def for_github(failures: Sequence[Failure]) -> Mapping[str, list[Any]]:
    """Give what a report carries besides, as plain data: GitHub's marks, and the rows of its page."""
    return {"marks": marks(failures, os.environ), "rows": [list(row(failure)) for failure in failures]}


def tell_end(terminal: Any, config: pytest.Config, reports: Iterable[Report]) -> None:
    """Write the last lines. `reports` are those of scenario files, all phases of all of them."""
    ended: dict[str, tuple[Outcome, Report]] = {}
    for report in reports:
        outcome = _outcome(report)
        if outcome and (outcome.failed or report.nodeid not in ended):
            ended[report.nodeid] = outcome, report
    outcomes = [outcome for outcome, _ in ended.values()]
    if not outcomes:  # interrupted in the first one
        return
    lines = [count_line(outcomes), *_contracts(outcomes, whole=_whole_folders(config))]
    for line in lines:
        terminal.write_line(line)
    told = [_for_github(outcome, report) for outcome, report in ended.values() if outcome.failed]
    for mark in (mark for one in told for mark in one["marks"]):
        terminal.write_line(mark)
    write_summary([tuple(cells) for one in told for cells in one["rows"]], lines, os.environ)


def _outcome(report: Report) -> Outcome | None:
    """Say what became of a scenario; None for a report that does not tell, such as that of a setup that went well.

    A failure without a kind is none of a scenario's own: its worker was killed, or the harness itself broke.
    """
    file = report.nodeid.split("::")[0]
    if isinstance(report, pytest.CollectReport):
        return Outcome(file, failed="setup") if report.failed else None
    told = dict(report.user_properties)
    item, proves = str(told.get("guardlab_item", file)), tuple(str(told.get("guardlab_proves", "")).split())
    if report.failed:
        return Outcome(item, proves, told.get("guardlab_kind", "crash"))  # type: ignore[arg-type]  # a Kind put it there
    if report.skipped and not hasattr(report, "wasxfail"):
        return Outcome(item, proves, skipped=True)
    return Outcome(item, proves) if report.passed and report.when == "call" else None


def _for_github(outcome: Outcome, report: Report) -> Mapping[str, list[Any]]:
    """Give what the report carries; what broke before it could say anything is told by its text."""
    assert outcome.failed  # noqa: S101 - only those are asked about
    carried: Mapping[str, list[Any]] | None = getattr(report, "guardlab_github", None)
    if carried:
        return carried
    crash = getattr(report.longrepr, "reprcrash", None)
    problem = str(crash.message if crash else report.longrepr) or "no report"
    return for_github([Failure(outcome.failed, outcome.item, None, outcome.failed, problem)])


def _contracts(outcomes: Sequence[Outcome], *, whole: bool) -> list[str]:
    """Say how much of each contract that was touched is proven; what is missing only matters for whole folders."""
    touched = {contract_of(clause) for outcome in outcomes for clause in outcome.proves}
    lines = []
    for name in sorted(contract for contract in touched if contract):
        said = clause_lines(name, CONTRACTS[name], outcomes, SHOWN_BY_TESTS)
        lines += said if whole else said[:1]
    return lines


def _whole_folders(config: pytest.Config) -> bool:
    return all((Path(config.invocation_params.dir) / str(arg).split("::")[0]).is_dir() for arg in config.args)
