"""Pure readings of a record: how guards went on with a session after they had stopped it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.expectations.markers import named_guards
from harness.expectations.traffic import ApiCall, api_calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.timeline import Entry, Record

__all__ = ["Attempt", "attempts", "speaker"]

PROMPTS = ("session.prompt_async", "session.prompt", "session.command")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A guard's request that a session go on, and the user message that came of it.

    Fields: `call` the API call; `message` the entry of the user message, None when OpenCode never took it up: the call
    was refused, spoiled, or its process ended.
    """

    call: ApiCall
    message: Entry | None


def attempts(record: Record) -> list[Attempt]:
    """Every request of a guard that a session go on, in order, each joined with its user message.

    The join is by session and text: a message belongs to the last open request before it, by the probe's own order.
    """
    calls = api_calls(record, *PROMPTS)
    taken: dict[int, Entry] = {}
    for message in record.of("message.user"):
        earlier = [call for call in calls if call.request.seq not in taken and _may_have_sent(call, message)]
        if earlier:
            taken[earlier[-1].request.seq] = message
    return [Attempt(call, taken.get(call.request.seq)) for call in calls]


def _may_have_sent(call: ApiCall, message: Entry) -> bool:
    request = call.request
    refused = call.status is not None and call.status >= 400 and not _forwarded(call)
    return (
        not refused
        and request.session == message.session
        and request.source_seq < message.source_seq
        and request.data.get("text") == message.data.get("text")
    )


def _forwarded(call: ApiCall) -> bool:
    """Whether the probe let the call happen and spoiled only its answer."""
    return bool(call.response and call.response.data.get("forwarded"))


def speaker(record: Record, text: str) -> str | None:
    """Give the guard that said this; None when its text does not tell.

    The only guard of a run said everything. Among several, the marker tells, also in its longer form: the marker
    `[ANTI-LOOP]` stands for `[ANTI-LOOP STREAM]` here.
    """
    guards = named_guards(record, None)
    if len(guards) == 1:
        return str(guards[0].get("name"))
    return next((str(guard.get("name")) for guard in guards if _opening(guard) and _opening(guard) in text), None)


def _opening(guard: Mapping[str, Any]) -> str:
    return str(guard.get("marker") or "").rstrip("] ")
