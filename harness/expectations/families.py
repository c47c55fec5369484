"""Every family of expectations that stands by itself; `order` can put any of them in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.expectations.answer import Answer
from harness.expectations.blocked import Blocked
from harness.expectations.continuations import Continuations, IdleBefore
from harness.expectations.executed import Executed
from harness.expectations.files import Files
from harness.expectations.happened import Event
from harness.expectations.permissions import Permissions
from harness.expectations.program import Exit, Stderr
from harness.expectations.requests import ExchangeEnded, Requests, StreamClosed
from harness.expectations.results import ToolResult
from harness.expectations.saying import Log, Toast

if TYPE_CHECKING:
    from harness.expectations.base import Expectation

__all__ = ["FAMILIES"]

FAMILIES: tuple[type[Expectation], ...] = (
    Blocked,
    Executed,
    Answer,
    Requests,
    StreamClosed,
    Continuations,
    IdleBefore,
    ToolResult,
    Permissions,
    ExchangeEnded,
    Toast,
    Log,
    Files,
    Exit,
    Stderr,
    Event,
)
