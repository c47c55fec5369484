"""The room of expectations: the registry of all that a scenario may say under `expect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.expectations.answer import Answer
from harness.expectations.blocked import Blocked
from harness.expectations.executed import Executed
from harness.expectations.requests import Requests, StreamClosed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.expectations.base import Expectation

__all__ = ["REGISTRY"]

FAMILIES: tuple[type[Expectation], ...] = (
    Blocked,
    Executed,
    Answer,
    Requests,
    StreamClosed,
)

REGISTRY: Mapping[str, type[Expectation]] = {family.kind: family for family in FAMILIES}
