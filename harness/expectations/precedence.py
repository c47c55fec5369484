"""Whose clock: which of two entries of different reporters happened first, and when nobody can say (DESIGN.md)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from harness.expectations.effects import result_of
from harness.expectations.traffic import api_calls
from harness.expectations.views import emissions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.timeline import Entry, Record

__all__ = ["Precedence"]

# What is known only once it has arrived may have happened earlier than its entry says: OpenCode's events come up to
# 79 ms late on an idle machine (opencode-facts.md C, D), and the fake model learns of a hang-up when its loop turns.
LATE_SECONDS = 0.25

# Steps by which the user, too, makes OpenCode close a stream.
CLOSING = ("abort", "delete_session", "restart", "kill")


class Precedence:
    """Compares the entries of one record.

    Two entries of one reporter are ordered by its own count. So are two that a chain of causes links: the event that
    both streams of OpenCode carry, a prompt and the message made of it, a message and the answer to it, an abort and
    the streams that it closes, the stages of one tool call, a result and the request that carries it. Others are
    ordered by their times when these are further apart than the clocks can be wrong.
    """

    def __init__(self, record: Record) -> None:
        """Find every link of the record once."""
        self._after: dict[int, set[int]] = {}
        self._count = len(record.entries)
        for cause, effect in _links(record):
            self._after.setdefault(cause.seq, set()).add(effect.seq)

    def between(self, first: Entry, second: Entry) -> Literal["before", "after", "unknown"]:
        """Say whether `first` happened before or after `second`."""
        if first.source == second.source:
            return "before" if first.source_seq < second.source_seq else "after"
        forward, back = self._leads(first, second), self._leads(second, first)
        if forward != back:
            return "before" if forward else "after"
        margin = first.error + second.error
        if first.at + margin < second.at - _late(second):
            return "before"
        return "after" if second.at + margin < first.at - _late(first) else "unknown"

    def _leads(self, cause: Entry, effect: Entry) -> bool:
        """Whether a chain of causes leads from one entry to the other."""
        seen, open_ = {cause.seq}, [cause.seq]
        while open_:
            for following in self._after.get(open_.pop(), ()):
                if following == effect.seq:
                    return True
                if following not in seen:
                    seen.add(following)
                    open_.append(following)
        return False


def _late(entry: Entry) -> float:
    hung_up = entry.kind == "exchange.closed" and entry.data.get("ended_by") == "client"
    return LATE_SECONDS if entry.source == "events" or hung_up else 0.0


def _links(record: Record) -> Iterator[tuple[Entry, Entry]]:
    """Give every pair of a cause and its effect that is sure."""
    for source in {entry.source for entry in record.entries}:
        yield from pairwise(sorted((e for e in record.entries if e.source == source), key=lambda e: e.source_seq))
    yield from _twins(record)
    yield from _messages(record)
    yield from _aborts(record)
    yield from _calls(record)


def _twins(record: Record) -> Iterator[tuple[Entry, Entry]]:
    """Link one event of OpenCode as seen by the probe and by the harness."""
    probed = {entry.data.get("id"): entry for entry in record.of("hook.event")}
    for entry in record.entries:
        twin = probed.get(entry.data.get("_id")) if entry.source == "events" else None
        if twin:
            yield entry, twin
            yield twin, entry


def _messages(record: Record) -> Iterator[tuple[Entry, Entry]]:
    """Link a prompt, the first user message with its text, and what the assistant wrote to that message."""
    messages = record.of("message.user")
    first = {(entry.session, entry.data.get("text")): entry for entry in reversed(messages)}
    prompts = {(entry.session, entry.data.get("text")): entry for entry in record.of("prompt")}
    for key, message in first.items():
        # Two equal prompts would leave open which message is whose.
        if key in prompts and sum(e.data.get("text") == key[1] for e in record.of("prompt")) == 1:
            yield prompts[key], message
    by_id = {entry.data.get("message"): entry for entry in messages}
    for entry in record.of("message.updated"):
        parent = by_id.get((entry.data.get("info") or {}).get("parentID"))
        if parent:
            yield parent, entry


def _aborts(record: Record) -> Iterator[tuple[Entry, Entry]]:
    """Link a guard's first abort of a session to the streams that OpenCode closed there, if nothing else closes any."""
    if any(entry.data.get("kind") in CLOSING for entry in record.of("step")):
        return
    aborts = {call.request.session: call.request for call in reversed(api_calls(record, "session.abort"))}
    for entry in record.of("exchange.closed"):
        abort = aborts.get(entry.session)
        if abort and entry.data.get("ended_by") == "client":
            yield abort, entry


def _calls(record: Record) -> Iterator[tuple[Entry, Entry]]:
    """Link the stages of a tool call: before-hook, shell, after-hook, last state of its part, request that tells it."""
    stages = {
        kind: {entry.data.get("call"): entry for entry in record.of(kind)}
        for kind in ("hook.before", "shell", "hook.after")
    }
    by_seq = {entry.seq: entry for entry in record.entries}
    for call in emissions(record):
        seen = [stages[kind].get(call.call) for kind in ("hook.before", "shell", "hook.after")]
        chain = [entry for entry in seen if entry]
        if call.status in ("completed", "error"):
            chain.append(by_seq[call.last])
        told = result_of(record, call)
        yield from pairwise([*chain, told[0]] if told else chain)
