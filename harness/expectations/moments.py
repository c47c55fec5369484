"""The moments that `order` knows by a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from harness.expectations.base import API_CALLS, EVENTS, Need
from harness.expectations.effects import Effect, effects
from harness.expectations.markers import blocked_by, missing_marker, named_guards
from harness.expectations.recoveries import attempts, unsent, unsent_words
from harness.expectations.traffic import api_calls
from harness.expectations.views import emissions, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from harness.timeline import Entry, Record

__all__ = ["MOMENTS", "Moment"]


class Moment(NamedTuple):
    """A word of `order`.

    Fields: what it `means`; how to `find` its entries, in order of occurrence; what it `needs`; its `doubt`: why it may
    have happened although a record does not show it, empty when it would.
    """

    means: str
    find: Callable[[Record], list[Any]]
    needs: Need | None = None
    doubt: Callable[[Record], str] = lambda _record: ""


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


def _effects(record: Record) -> list[Effect]:
    calls = emissions(record)
    tools = dict.fromkeys(call.tool for call in calls)
    return [effect for tool in tools for effect in effects(record, tool, [c for c in calls if c.tool == tool])]


def _executed(record: Record) -> list[Entry]:
    return _where(record, (effect.entry for effect in _effects(record) if effect.happened))


def _unproven(record: Record) -> str:
    doubts = [effect.doubt for effect in _effects(record) if effect.happened is None]
    return f"a call completed although {doubts[0]}" if doubts else ""


def _continuation(record: Record) -> list[Entry]:
    return [one.call.request for one in attempts(record) if one.message]


def _unsent(record: Record) -> str:
    messages = unsent(record)
    return unsent_words(messages) if messages else ""


def _answer(record: Record) -> list[Entry]:
    return _where(record, [text.last for text in texts(record) if text.session == "main"][-1:])


MOMENTS: Mapping[str, Moment] = {
    "prompt": Moment("a prompt of the user", lambda record: record.of("prompt")),
    "stream_closed": Moment("a stream that OpenCode closed", _hung_up),
    "abort": Moment(
        "a guard's abort", lambda record: [call.request for call in api_calls(record, "session.abort")], API_CALLS
    ),
    "idle": Moment("an idle session", _idle),
    "continuation": Moment("a guard's continuation", _continuation, API_CALLS, _unsent),
    "answer": Moment("the last text in session main", _answer),
    "blocked": Moment("a blocked call", _blocked, doubt=lambda record: missing_marker(named_guards(record, None))),
    "executed": Moment("an executed call", _executed, doubt=_unproven),
    "permission": Moment(
        "a question for a permission", lambda record: record.of("permission.asked", "permission.v2.asked"), EVENTS
    ),
    "toast": Moment("a toast", lambda record: record.of("tui.toast.show"), EVENTS),
}
