"""Faults: how a reply is delivered wrong, by name; each family is a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import model_validator

from fakemodel.checking import StrictModel, wrong
from fakemodel.faults.base import Count, Fault
from fakemodel.faults.connection import CutAt, ResetAt
from fakemodel.faults.response import ContentType, Status
from fakemodel.faults.stream import (
    Duplicate,
    Empty,
    Garbage,
    HalfArguments,
    Huge,
    Slow,
    StallAt,
    Truncate,
    UnknownTool,
)

if TYPE_CHECKING:
    from typing import Self

__all__ = ["FaultModel", "fault_kinds"]


class FaultModel(StrictModel):
    """One entry of ``fault``: a kind with its options, and which requests to the reply it meets.

    This class is the registry: every field that holds a Fault is a kind.
    """

    status: Status | None = None
    content_type: ContentType | None = None
    slow: Slow | None = None
    stall: StallAt | None = None
    truncate: Truncate | None = None
    garbage: Garbage | None = None
    duplicate: Duplicate | None = None
    empty: Empty | None = None
    huge: Huge | None = None
    half_arguments: HalfArguments | None = None
    unknown_tool: UnknownTool | None = None
    cut: CutAt | None = None
    reset: ResetAt | None = None
    first: Literal["forever"] | Count | None = None
    request: Count | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [kind for kind in fault_kinds() if getattr(self, kind) is not None]
        if len(kinds) != 1:
            found = " and ".join(f"'{kind}'" for kind in kinds) or "none"
            raise wrong(f"a fault has one kind, got {found}", f"kinds: {', '.join(fault_kinds())}")
        if self.first is not None and self.request is not None:
            raise wrong(
                "'first' cannot stand beside 'request'", "first: 2 is the first two, request: 2 is the second alone"
            )
        return self

    @property
    def chosen(self) -> tuple[str, Fault]:
        """The kind and the fault."""
        return next((kind, fault) for kind in fault_kinds() if isinstance(fault := getattr(self, kind), Fault))


def fault_kinds() -> tuple[str, ...]:
    """Return the names of all kinds of fault."""
    return tuple(name for name in FaultModel.model_fields if name not in ("first", "request"))
