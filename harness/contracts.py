"""The clauses of the guards' contracts, by number; their texts are in each guard's documentation."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONTRACTS", "SHOWN_BY_TESTS", "contract_of"]


def _numbered(prefix: str, *ranges: tuple[int, int]) -> tuple[str, ...]:
    return tuple(f"{prefix}-{n:02}" for n in chain.from_iterable(range(low, high + 1) for low, high in ranges))


CONTRACTS: Mapping[str, tuple[str, ...]] = {"INF": _numbered("INF", (1, 15), (20, 41), (50, 54), (60, 65))}
"""Contract -> its clauses. INF is the Infinity Loop Guard's."""


SHOWN_BY_TESTS: Mapping[str, str] = {
    "INF-63": "shown by tests/guard/test_packaging.py",
    "INF-64": "shown by tests/guard and tests/plugin",
}
"""Clause -> where it is shown; no scenario can, since they are about installing the guard and choosing what is run."""


def contract_of(clause: str) -> str | None:
    """Give the contract that has this clause, None when none has."""
    return next((name for name, clauses in CONTRACTS.items() if clause in clauses), None)
