"""The moments that `order` knows by a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness.expectations.effects import effects
from harness.expectations.markers import blocked_by, named_guards
from harness.expectations.recoveries import attempts
from harness.expectations.traffic import api_calls
from harness.expectations.views import emissions, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from harness.timeline import Entry, Record

__all__ = ["MOMENTS"]


def _where(record: Record, seqs: Iterable[int | None]) -> list[Entry]:
    wanted = set(seqs)
    return [entry for entry in record.entries if entry.seq in wanted]


def _hung_up(record: Record) -> list[Entry]:
    return [entry for entry in record.of("exchange.closed") if entry.data.get("ended_by") == "client"]


def _idle(record: Record) -> list[Entry]:
    return [entry for entry in record.of("hook.event") if entry.data.get("status") == "idle"]


def _blocked(record: Record) -> list[Entry]:
    guards = named_guards(record, None)
    return _where(record, (call.last for call in emissions(record) if blocked_by(call, guards)))


def _executed(record: Record) -> list[Entry]:
    calls = emissions(record)
    tools = {call.tool for call in calls}
    found = [effect for tool in tools for effect in effects(record, tool, [c for c in calls if c.tool == tool])]
    return _where(record, (effect.entry for effect in found if effect.happened))


def _continuation(record: Record) -> list[Entry]:
    return [one.call.request for one in attempts(record) if one.message]


def _answer(record: Record) -> list[Entry]:
    return _where(record, [text.last for text in texts(record) if text.session == "main"][-1:])


MOMENTS: Mapping[str, tuple[str, Callable[[Record], list[Any]]]] = {
    "prompt": ("a prompt of the user", lambda record: record.of("prompt")),
    "stream_closed": ("a stream that OpenCode closed", _hung_up),
    "abort": ("a guard's abort", lambda record: [call.request for call in api_calls(record, "session.abort")]),
    "idle": ("an idle session", _idle),
    "continuation": ("a guard's continuation", _continuation),
    "answer": ("the last text in session main", _answer),
    "blocked": ("a blocked call", _blocked),
    "executed": ("an executed call", _executed),
    "permission": ("a question for a permission", lambda record: record.of("permission.asked", "permission.v2.asked")),
    "toast": ("a toast", lambda record: record.of("tui.toast.show")),
}
"""Word -> what it means, and where a record shows it, in order of occurrence."""
