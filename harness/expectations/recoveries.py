"""Pure readings of a record: how guards went on with a session after they had stopped it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.expectations.markers import named_guards
from harness.expectations.traffic import ApiCall, api_calls
from harness.expectations.views import emissions
from harness.expectations.words import count_words, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from harness.timeline import Entry, Record

__all__ = ["Attempt", "attempts", "speaker", "unsent", "unsent_words"]

COMMAND = "session.command"  # its text comes from the command's template
PROMPTS = ("session.prompt_async", "session.prompt", COMMAND)


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

    The join is by session and text (a command's message has another): a message belongs to the last open request before
    it, by the probe's own order.
    """
    calls = api_calls(record, *PROMPTS)
    taken: dict[int, Entry] = {}
    for message in record.of("message.user"):
        earlier = [call for call in calls if call.request.seq not in taken and _may_have_sent(call, message)]
        if earlier:
            taken[earlier[-1].request.seq] = message
    return [Attempt(call, taken.get(call.request.seq)) for call in calls]


def unsent(record: Record, session: str | None = None) -> list[Entry]:
    """Every user message of unknown sender: sent by no step, no `task` of the model and no call that was joined to it.

    A guard can call OpenCode past the probe, or through the routes of its second API, which has an event of its own.
    What OpenCode itself adds (a summary's "go on", the output of a command) is no user message to the probe: its hook
    is not asked.
    """
    taken = {one.message.seq for one in attempts(record) if one.message}
    # The words of `opencode run` reach OpenCode as it likes, in a session that the step does not know.
    senders = [(e.session, str(e.data.get("text")) if e.session else None) for e in record.of("prompt")]
    senders += [(None, str(call.input.get("prompt"))) for call in emissions(record) if call.tool == "task"]
    found = []
    for message in record.of("message.user", "session.next.prompted"):
        sender = next((one for one in senders if message.seq not in taken and _said(*one, message)), None)
        if sender:
            senders.remove(sender)
        elif message.seq not in taken and session in (None, record.name(message.session)):
            found.append(message)
    return found


def unsent_words(messages: Sequence[Entry]) -> str:
    """Name messages of unknown sender, and show the first."""
    return f"{count_words(len(messages), 'user message')} of unknown sender ({quoted(_text(messages[0]))})"


def _text(message: Entry) -> str:
    return str(message.data.get("text") or (message.data.get("prompt") or {}).get("text") or "")


def _said(session: str | None, text: str | None, message: Entry) -> bool:
    """Whether a message is what was sent; the probe cuts a long text."""
    said = _text(message)
    same = text is None or said == text or (said.endswith("…") and text.startswith(said[:-1]))
    return same and session in (None, message.session)


def _may_have_sent(call: ApiCall, message: Entry) -> bool:
    request = call.request
    refused = call.status is not None and call.status >= 400 and not _forwarded(call)
    return (
        not refused
        and request.session == message.session
        and request.source_seq < message.source_seq
        and (call.call == COMMAND or request.data.get("text") == message.data.get("text"))
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
