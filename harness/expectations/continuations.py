"""The expectations about going on: `continuations`, `idle_before`."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from harness.expectations.base import API_CALLS, Count, Expectation, Need, Verdict, failed, passed, unknown
from harness.expectations.markers import unknown_guard
from harness.expectations.recoveries import Attempt, attempts, speaker, unsent, unsent_words
from harness.expectations.traffic import api_calls
from harness.expectations.words import clip, count_words, times

if TYPE_CHECKING:
    from harness.timeline import Entry, Record

__all__ = ["Continuations", "IdleBefore"]


class Continuations(Expectation):
    """How often a guard made a session go on: OpenCode accepted the call and took it up as a user message.

    Fields: `times` the count or range; `session` all by default; `by` the guard's name.
    """

    kind: ClassVar[str] = "continuations"
    shorthand: ClassVar[str | None] = "times"
    needs: ClassVar[Need | None] = API_CALLS
    times: Count
    session: str | None = None
    by: str | None = None

    def judge(self, record: Record) -> Verdict:
        """Count the requests that became user messages; a message of unknown sender leaves the count open."""
        expected = times(self.times, "continuation") + (f" by {self.by}" if self.by else "")
        tries = [one for one in attempts(record) if self.session in (None, one.call.session)]
        evidence = _entries(tries)
        missing = unknown_guard(record, self.by)
        speakers = {one.call.request.seq: speaker(record, _text(one)) for one in tries}
        if missing or (self.by and None in speakers.values()):
            return unknown(missing or "the text of a continuation does not tell whose it is", expected, evidence)
        mine = [one for one in tries if self.by in (None, speakers[one.call.request.seq])]
        done = [one for one in mine if one.message]
        lost = [_answer(one) for one in mine if not one.message]
        actual = count_words(len(done), "continuation") + (f"; not taken up: {', '.join(lost)}" if lost else "")
        stops = tuple(call.request.seq for call in api_calls(record, "session.abort"))
        others = unsent(record, self.session)
        possible = {number in self.times for number in range(len(done), len(done) + len(others) + 1)}
        if len(possible) > 1:
            seen = _entries(mine) + tuple(message.seq for message in others)
            return unknown(f"{actual}, and {unsent_words(others)}", expected, seen, self.session or "")
        verdict = passed if True in possible else failed
        return verdict(actual, expected, _entries(mine) or evidence or stops, self.session or "")

    def guard(self) -> str | None:
        """Give the guard that must have done it."""
        return self.by

    def claims_absence(self) -> bool:
        """Whether one continuation more would fail: it would come after idle, when nothing else is waited for."""
        return self.times.bounded


class IdleBefore(Expectation):
    """Every request of a guard that a session go on came when the session was idle.

    Idle is what OpenCode's own process said last about the session, after the last abort, in the probe's exact order.

    Fields: `of` what must come after idle; `session` all by default.
    """

    kind: ClassVar[str] = "idle_before"
    shorthand: ClassVar[str | None] = "of"
    needs: ClassVar[Need | None] = API_CALLS
    of: Literal["continuation"]
    session: str | None = None

    def judge(self, record: Record) -> Verdict:
        """Look at each request; the first that came too early fails."""
        expected = "idle, after the last abort and before every continuation"
        tries = [one for one in attempts(record) if self.session in (None, one.call.session)]
        others = unsent(record, self.session)
        if others:
            return unknown(unsent_words(others), expected, tuple(message.seq for message in others), self.session or "")
        if not tries:
            return failed("no continuation was sent", expected, _entries([]), self.session or "")
        proofs: list[int] = []
        for one in tries:
            request = one.call.request
            status = _last_status(record, request)
            proofs += [entry.seq for entry in (status, request) if entry]
            if status is None:
                return unknown(
                    "the probe saw no status of the session before the continuation", expected, tuple(proofs)
                )
            abort = _last_abort(record, request)
            if _state(status) != "idle":
                return _early(f"the session was {_state(status)} when the continuation was sent", expected, one, status)
            if abort and abort.source_seq > status.source_seq:
                return _early("no idle came between the abort and the continuation", expected, one, abort)
        return passed(f"idle before {len(tries)} of {len(tries)}", expected, tuple(proofs))


def _early(actual: str, expected: str, one: Attempt, before: Entry) -> Verdict:
    return failed(actual, expected, (before.seq, one.call.request.seq), f"session {one.call.session}")


def _last_status(record: Record, request: Entry) -> Entry | None:
    events = [
        entry
        for entry in record.of("hook.event")
        if entry.session == request.session and entry.source_seq < request.source_seq and _state(entry)
    ]
    return events[-1] if events else None


def _state(entry: Entry) -> str:
    """busy, retry or idle; empty for an event that says nothing of it."""
    return "idle" if entry.data.get("type") == "session.idle" else str(entry.data.get("status") or "")


def _last_abort(record: Record, request: Entry) -> Entry | None:
    aborts = [
        call.request
        for call in api_calls(record, "session.abort")
        if call.request.session == request.session and call.request.source_seq < request.source_seq
    ]
    return aborts[-1] if aborts else None


def _entries(tries: list[Attempt]) -> tuple[int, ...]:
    return tuple(entry.seq for one in tries for entry in (one.call.request, one.message or one.call.response) if entry)


def _text(one: Attempt) -> str:
    return str(one.call.request.data.get("text") or "")


def _answer(one: Attempt) -> str:
    response = one.call.response
    if response is None:
        return f"{one.call.call} without an answer"
    return f"{one.call.call} answered {clip(str(response.data.get('error') or response.data.get('status')), 60)}"
