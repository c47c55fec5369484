"""The record of one exchange: what was asked, what was really sent, and who ended it; and the events about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemodel.request import Request
    from fakemodel.script import Reply
    from fakemodel.source import Span

__all__ = ["EndedBy", "Event", "EventKind", "Exchange", "Kind", "UnusedReply"]

EndedBy: TypeAlias = Literal["client", "script", "fault", "killed", "shutdown"]
Kind: TypeAlias = Literal["main", "child", "title", "compaction"]
EventKind: TypeAlias = Literal["received", "first_chunk", "gate", "released", "closed", "unscripted", "invalid"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer so far. Times are monotonic seconds (``time.monotonic``).

    ``session`` is the script's name for the session, ``reply`` counts from 1 in that script and ``use`` from
    1 in that reply; all three are None where nothing was scripted. ``chunks_sent`` are the wire events
    handed to the socket: an upper bound of what the client read. ``chunks_scripted`` is None while the
    stream runs, and for an endless reply. ``part`` is the position (from 0) and kind of the part that was being
    sent, ``repeats`` the whole repetitions of its text, ``sentence`` the one (from 1) of a repetition that it went
    on in, or the last when all was said (None in a call), ``text_sent`` the characters of text and arguments of all
    parts. ``stop_lag`` is the time from the client's close to the stop of the stream, ``stalled`` the time that a
    stall lasted. ``faults`` are the kinds of the faults that acted.
    """

    number: int
    session: str | None
    session_id: str | None
    parent_id: str | None
    kind: Kind
    protocol: str
    reply: int | None
    use: int | None
    received_at: float
    first_at: float | None
    closed_at: float | None
    status: int | None
    ended_by: EndedBy | None
    chunks_sent: int
    chunks_scripted: int | None
    part: tuple[int, str] | None
    repeats: int
    sentence: int | None
    text_sent: int
    stop_lag: float | None
    faults: tuple[str, ...]
    stalled: float | None
    request: Request


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an exchange, at a monotonic time.

    ``detail`` by kind: ``received`` has ``elapsed`` (scripted seconds) and ``name`` (of the reply), ``gate`` and
    ``released`` have ``gate``, ``unscripted`` and ``invalid`` have ``reason``, ``invalid`` also ``invariant``,
    and ``gate`` where the answer never came to one.
    """

    kind: EventKind
    at: float
    exchange: Exchange
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UnusedReply:
    """A required reply that was not used as often as scripted."""

    session: str
    reply: int
    used: int
    wanted: int
    span: Span | None
    value: Reply
