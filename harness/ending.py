"""What a session says at its end: its scenarios by kind, the clauses that they prove, and what GitHub wants to know."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.contracts import CONTRACTS, SHOWN_BY_TESTS, contract_of
from harness.report.ci import marks, row, write_summary
from harness.report.summary import Outcome, clause_lines, count_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pytest

    from harness.report.failure import Failure
    from harness.scenario.model import Scenario

__all__ = ["properties", "tell_end"]


def properties(scenario: Scenario, shown: str, failures: Sequence[Failure]) -> list[tuple[str, object]]:
    """Give what an item's report carries: into the junit file, and from an xdist worker to the controller."""
    carried: list[tuple[str, object]] = [
        ("guardlab_item", shown),
        ("guardlab_proves", " ".join(scenario.head.proves)),
    ]
    if failures:
        carried.append(("guardlab_kind", failures[0].kind))
    if failures and os.environ.get("CI"):
        carried.append(("guardlab_marks", "\n".join(marks(failures, os.environ))))
        carried.append(("guardlab_rows", [list(row(failure)) for failure in failures]))
    return carried


def tell_end(terminal: Any, config: pytest.Config, told: Sequence[Mapping[str, Any]]) -> None:
    """Write the last lines. `told` is what `properties` gave, a mapping an item."""
    outcomes = [
        Outcome(one["guardlab_item"], tuple(one["guardlab_proves"].split()), one.get("guardlab_kind"))
        for one in told
        if "guardlab_item" in one
    ]
    lines = [count_line(outcomes), *_contracts(outcomes, whole=_whole_folders(config))]
    for line in lines:
        terminal.write_line(line)
    for one in told:
        if one.get("guardlab_marks"):
            terminal.write_line(one["guardlab_marks"])
    rows = [tuple(cells) for one in told for cells in one.get("guardlab_rows", ())]
    write_summary(rows, lines, os.environ)


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
