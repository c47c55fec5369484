"""Pure readings of a record: exchanges with the model and API calls of guards, each joined from its entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.timeline import Entry, Record

__all__ = ["ApiCall", "Exchange", "api_calls", "exchanges"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request to the fake model and how it ended.

    Fields: `number`; `session` the scenario's name; `kind` main, child, title or compaction; `reply` and `use` the
    scripted reply that answered, from 1, None when nothing was scripted; `received` its entry; `closed` its
    close record, None while it is open.
    """

    number: int
    session: str | None
    kind: str
    reply: int | None
    use: int | None
    received: Entry
    closed: Entry | None

    @property
    def end(self) -> Mapping[str, Any]:
        """The data of the close record; empty while it is open."""
        return self.closed.data if self.closed else {}

    @property
    def last(self) -> int:
        """The position of its newest entry."""
        return (self.closed or self.received).seq


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call of a guard to OpenCode's API, as the probe saw it.

    Fields: `call` its name (`session.abort`); `session` the scenario's name; `request` and `response` its entries, the
    latter None while it is in flight.
    """

    call: str
    session: str | None
    request: Entry
    response: Entry | None

    @property
    def status(self) -> int | None:
        """The HTTP status of the answer; None without one."""
        return self.response.data.get("status") if self.response else None


def exchanges(record: Record) -> list[Exchange]:
    """Every exchange, by number."""
    first: dict[int, Entry] = {}
    closed: dict[int, Entry] = {}
    for entry in record.entries:
        if entry.kind == "exchange.received":
            first[entry.data["number"]] = entry
        if entry.kind == "exchange.closed":
            closed[entry.data["number"]] = entry
    return [_exchange(record, entry, closed.get(number)) for number, entry in sorted(first.items())]


def _exchange(record: Record, received: Entry, closed: Entry | None) -> Exchange:
    data = {**received.data, **(closed.data if closed else {})}
    return Exchange(
        number=data["number"],
        session=data.get("session") or record.name(received.session),
        kind=str(data.get("kind", "")),
        reply=data.get("reply"),
        use=data.get("use"),
        received=received,
        closed=closed,
    )


def api_calls(record: Record, *names: str) -> list[ApiCall]:
    """Every API call of a guard of these names, or of any, in the order in which they were made.

    A process that was started again counts its calls from 1 again: an answer belongs to the last request of its number.
    """
    asked: dict[int, Entry] = {}
    answers: dict[int, Entry] = {}
    for entry in record.of("api.request", "api.response"):
        if entry.kind == "api.request":
            asked[entry.data["id"]] = entry
        elif entry.data["id"] in asked:
            answers[asked.pop(entry.data["id"]).seq] = entry
    return [
        ApiCall(entry.data["call"], record.name(entry.session), entry, answers.get(entry.seq))
        for entry in record.of("api.request")
        if not names or entry.data["call"] in names
    ]
