"""The last lines of a run of many scenarios: what failed by its kind, and which clauses of a contract are proven."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.errors import Kind

__all__ = ["Outcome", "clause_lines", "count_line"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one scenario.

    Fields: `item` its file as it is shown; `proves` the clauses that it names; `failed` the kind that it counts as,
    None when it did not fail; `skipped` it is for another system.
    """

    item: str
    proves: tuple[str, ...] = ()
    failed: Kind | None = None
    skipped: bool = False


def count_line(outcomes: Iterable[Outcome]) -> str:
    """Count by kind: `guardlab: 24 passed, 3 failed (2 expectation, 1 deadline), 1 skipped`."""
    kinds = Counter("skipped" if outcome.skipped else outcome.failed or "passed" for outcome in outcomes)
    passed, skipped = kinds.pop("passed", 0), kinds.pop("skipped", 0)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0])))
    failed = f", {sum(kinds.values())} failed ({told})" if kinds else ""
    return f"guardlab: {passed} passed{failed}" + (f", {skipped} skipped" if skipped else "")


def clause_lines(
    contract: str, clauses: Sequence[str], outcomes: Iterable[Outcome], elsewhere: Mapping[str, str] | None = None
) -> list[str]:
    """Say how many clauses are proven, then one line for each that is not, with the reason.

    A clause is proven when a scenario that names it passed and none that names it failed. `elsewhere` says of a clause
    that no scenario can prove where it is shown.
    """
    passed: set[str] = set()
    failed: dict[str, list[str]] = {}
    for outcome in outcomes:
        for clause in outcome.proves:
            if outcome.failed:
                failed.setdefault(clause, []).append(outcome.item)
            elif not outcome.skipped:
                passed.add(clause)
    unproven = [clause for clause in clauses if clause in failed or clause not in passed]
    head = f"contract {contract}: {len(clauses) - len(unproven)} of {len(clauses)} clauses proven"
    return [
        head,
        *(f"  {clause}: {_reason(failed.get(clause, []), (elsewhere or {}).get(clause))}" for clause in unproven),
    ]


def _reason(items: Sequence[str], elsewhere: str | None) -> str:
    return f"failed in {', '.join(items)}" if items else elsewhere or "no scenario proves it"
