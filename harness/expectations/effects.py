"""Whether a tool call had its effect, proven from outside of OpenCode's own word (DESIGN.md, "Executed")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from harness.expectations.views import Emission

if TYPE_CHECKING:
    from harness.timeline import Entry, Record

__all__ = ["Effect", "effects", "result_of"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What became of a call: `happened` None is unknown, and `doubt` says why; `entry` is the position of the proof."""

    happened: bool | None
    entry: int | None = None
    doubt: str = ""


Judge: TypeAlias = Callable[[Emission], Effect]


def effects(record: Record, tool: str, calls: Sequence[Emission]) -> list[Effect]:
    """Give the effect of each of these calls of one tool."""
    judge = {"bash": _bash(record, calls), "write": _write(record), "edit": _edit(record)}.get(tool, _other(record))
    return [judge(call) for call in calls]


def result_of(record: Record, call: Emission) -> tuple[Entry, str] | None:
    """Give the first request that carries the call's result to the model, and the text that the model saw.

    A protocol without call ids (google) has the result under its text alone. Call ids are unique, so the request comes
    after the call even where the event stream, which lags, was heard later.
    """
    for entry in record.of("exchange.received"):
        for result in entry.data.get("results") or ():
            text = str(result.get("text", ""))
            if result.get("call_id") == call.call or (
                not result.get("call_id") and text == (call.error or call.output)
            ):
                return entry, text
    return None


def _bash(record: Record, calls: Sequence[Emission]) -> Judge:
    runs = record.of("shell")
    proofs = {str(run.data["call"]): run.seq for run in runs if run.data.get("call")}
    nameless = [run for run in runs if not run.data.get("call")]
    for call in calls:
        command = call.input.get("command")
        run = next((run for run in nameless if run.data.get("command") == command), None)
        if run and call.call not in proofs:
            nameless.remove(run)
            proofs[call.call] = run.seq

    def judge(call: Emission) -> Effect:
        if call.call in proofs:
            return Effect(happened=True, entry=proofs[call.call])
        return _unproven(call, "the recording shell saw no run of it")

    return judge


def _unproven(call: Emission, doubt: str) -> Effect:
    """Leave open whether a call happened that OpenCode calls completed although the proof is missing."""
    return Effect(happened=None, doubt=doubt) if call.status == "completed" else Effect(happened=False)


def _write(record: Record) -> Judge:
    after = _disk(record, "hook.after")

    def judge(call: Emission) -> Effect:
        entry = after.get(call.call)
        if entry is None:
            return _unproven(call, "the probe did not see it end")
        content = sha256(str(call.input.get("content", "")).encode()).hexdigest()
        return Effect(entry.data.get("disk") == content, entry.seq)

    return judge


def _edit(record: Record) -> Judge:
    before, after = _disk(record, "hook.before"), _disk(record, "hook.after")

    def judge(call: Emission) -> Effect:
        entry, earlier = after.get(call.call), before.get(call.call)
        if entry is None or earlier is None:
            return _unproven(call, "the probe did not see it begin and end")
        return Effect(entry.data.get("disk") not in (None, earlier.data.get("disk")), entry.seq)

    return judge


def _disk(record: Record, kind: str) -> dict[str, Entry]:
    return {str(entry.data.get("call")): entry for entry in record.of(kind)}


def _other(record: Record) -> Judge:
    def judge(call: Emission) -> Effect:
        if call.status != "completed":
            return Effect(happened=False)
        seen = result_of(record, call)
        return (
            Effect(happened=True, entry=seen[0].seq)
            if seen
            else _unproven(call, "no later request carried its result to the model")
        )

    return judge
