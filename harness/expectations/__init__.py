"""The room of expectations: the registry of all that a scenario may say under `expect`."""

from __future__ import annotations

from collections.abc import Mapping

from harness.expectations.answer import Answer
from harness.expectations.base import Expectation
from harness.expectations.blocked import Blocked
from harness.expectations.executed import Executed
from harness.expectations.requests import Requests, StreamClosed

__all__ = ["REGISTRY"]

FAMILIES: tuple[type[Expectation], ...] = (
    Blocked,
    Executed,
    Answer,
    Requests,
    StreamClosed,
)

REGISTRY: Mapping[str, type[Expectation]] = {family.kind: family for family in FAMILIES}
