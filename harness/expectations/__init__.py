"""The room of expectations: the registry of all that a scenario may say under `expect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.expectations.families import FAMILIES
from harness.expectations.order import Order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.expectations.base import Expectation

__all__ = ["REGISTRY"]

EVERY: tuple[type[Expectation], ...] = (*FAMILIES, Order)

REGISTRY: Mapping[str, type[Expectation]] = {family.kind: family for family in EVERY}
