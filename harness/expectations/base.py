"""What every expectation is: a checked mapping from the scenario file and a pure function of a frozen timeline."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import PlainValidator, WithJsonSchema, model_validator

from fakemodel.loading import StrictModel, wrong

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = [
    "API_CALLS",
    "CHILDREN",
    "EVENTS",
    "PROGRAM",
    "Count",
    "Expectation",
    "Need",
    "Positions",
    "Range",
    "Verdict",
    "failed",
    "passed",
    "unknown",
]

RANGE = re.compile(r"^(\d+)?\.\.(\d+)?$")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an expectation found.

    Fields: `status` (unknown never passes); `actual` and `expected` in words; `where` what `actual` was read from;
    `evidence` the positions (`Entry.seq`) of the entries that prove it.
    """

    status: Literal["pass", "fail", "unknown"]
    actual: str
    expected: str
    where: str = ""
    evidence: tuple[int, ...] = ()


def passed(actual: str, expected: str, evidence: tuple[int, ...] = (), where: str = "") -> Verdict:
    """Build a verdict that passes."""
    return Verdict("pass", actual, expected, where, evidence)


def failed(actual: str, expected: str, evidence: tuple[int, ...] = (), where: str = "") -> Verdict:
    """Build a verdict that fails."""
    return Verdict("fail", actual, expected, where, evidence)


def unknown(actual: str, expected: str, evidence: tuple[int, ...] = (), where: str = "") -> Verdict:
    """Build a verdict for which something that it needs was not seen; `actual` says what is missing."""
    return Verdict("unknown", actual, expected, where, evidence)


@dataclass(frozen=True, slots=True)
class Range:
    """An inclusive range of whole numbers; `high` None is open."""

    low: int
    high: int | None

    def __contains__(self, number: int) -> bool:
        """Whether the number lies in the range."""
        return number >= self.low and (self.high is None or number <= self.high)

    @property
    def bounded(self) -> bool:
        """Whether one more could be too many: then a pass claims that no more came."""
        return self.high is not None

    def __str__(self) -> str:
        """As the scenario file writes it."""
        return str(self.low) if self.low == self.high else f"{self.low}..{'' if self.high is None else self.high}"


def _range(value: object) -> Range:
    if isinstance(value, Range):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return Range(value, value)
    match = RANGE.match(value) if isinstance(value, str) else None
    if not match or match.groups() == (None, None):
        raise ValueError("wanted a whole number or a range like 3..12, 3.. or ..12")
    low, high = int(match[1] or 0), int(match[2]) if match[2] else None
    if high is not None and high < low:
        raise ValueError(f"wanted a range whose end is not below its start; {low} is above {high}")
    if low == 0 and high is None:
        raise wrong(f"every number is in '{value}'", "write 1.., or an upper bound such as ..3")
    return Range(low, high)


def _positions(value: object) -> Range:
    wanted = _range(value)
    if wanted.high == 0:
        raise ValueError("positions count from 1")
    return Range(max(wanted.low, 1), wanted.high)


SCHEMA = WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": RANGE.pattern}]})

Count = Annotated[Range, PlainValidator(_range), SCHEMA]
"""A count or a range of counts: `3`, `3..12`, `3..`, `..12`."""

Positions = Annotated[Range, PlainValidator(_positions), SCHEMA]
"""Positions among some calls, from 1: `3`, `3..12`, `3..` (the 3rd and all after it)."""


@dataclass(frozen=True, slots=True)
class Need:
    """The only way of running OpenCode in which something can be seen, and `because` what is not seen in the other."""

    via: Literal["serve", "run"]
    because: str


API_CALLS = Need("serve", "opencode run shows no API call of a guard")
EVENTS = Need("serve", "opencode run has no stream of events")
CHILDREN = Need("serve", "opencode run prints nothing of a child session")
PROGRAM = Need("run", "only opencode run ends with its prompt")


class Expectation(StrictModel, ABC):
    """One check that a scenario declares; `judge` is pure and reads nothing but the record.

    Class fields: `kind` the key in the scenario file; `shorthand` the field that a bare value sets
    (`answer: text`), if any; `needs` where it can be seen, None everywhere: elsewhere an absence would always pass;
    `child_needs` the same where it is about a child session; `late` it is known when the run is over, and no step can
    wait for it.
    """

    kind: ClassVar[str]
    shorthand: ClassVar[str | None] = None
    needs: ClassVar[Need | None] = None
    child_needs: ClassVar[Need | None] = None
    late: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _bare(cls, value: Any) -> Any:
        """Put a bare value under the field that it is short for."""
        return value if cls.shorthand is None or isinstance(value, dict) else {cls.shorthand: value}

    @abstractmethod
    def judge(self, record: Record) -> Verdict:
        """Say whether the record holds what is expected, and what proves it."""

    def claims_absence(self) -> bool:
        """Whether a pass means that something was not seen; such runs wait a full second before they are over."""
        return False

    def guard(self) -> str | None:
        """Give the name of the guard that it mentions, so that the loader can check it."""
        return None

    def sessions(self) -> frozenset[str]:
        """Give the session names that it mentions, so that the loader can check them."""
        name: Any = getattr(self, "session", None)
        return frozenset((name,)) if isinstance(name, str) else frozenset()
