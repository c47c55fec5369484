"""The expectations about exchanges with the model: `requests`, `stream_closed`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, model_validator

from fakemodel.loading import Seconds
from harness.expectations.base import Count, Expectation, Verdict, failed, passed
from harness.expectations.traffic import Exchange, exchanges
from harness.expectations.words import count_words, times

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["EndedBy", "ExchangeEnded", "Kind", "Number", "Requests", "StreamClosed", "end_words", "of_reply"]

EndedBy: TypeAlias = Literal["client", "script", "fault", "killed", "shutdown"]
Kind: TypeAlias = Literal["main", "child", "title", "compaction"]
Number: TypeAlias = Annotated[int, Field(ge=1)]

SHOWN = 2


class Requests(Expectation):
    """How many requests the model got.

    Fields: `times` the count or range; `session` and `kind` (main, child, title, compaction) choose, all by default.
    """

    kind: ClassVar[str] = "requests"
    shorthand: ClassVar[str | None] = "times"
    session: str | None = None
    of: Annotated[Kind | None, Field(alias="kind")] = None
    times: Count

    def judge(self, record: Record) -> Verdict:
        """Count the exchanges."""
        chosen = [e for e in exchanges(record) if self.session in (None, e.session) and self.of in (None, e.kind)]
        noun = f"{self.of} request" if self.of else "request"
        where = f"session {self.session}" if self.session else ""
        verdict = passed if len(chosen) in self.times else failed
        evidence = tuple(exchange.received.seq for exchange in chosen)
        return verdict(count_words(len(chosen), noun), times(self.times, noun), evidence, where)

    def claims_absence(self) -> bool:
        """Whether one request more could fail."""
        return self.times.bounded


class StreamClosed(Expectation):
    """The stream of a reply was closed, by whom, and how far it had come.

    Fields: `reply` its number in the session's script and `session` (main by default); `use` which use of that reply,
    any by default; `by` client (OpenCode hung up), script, fault, killed or shutdown; `within_repeats` at most so
    many whole repetitions had been sent; `within` at most this long after the request, as a duration.
    """

    kind: ClassVar[str] = "stream_closed"
    reply: Number
    session: str = "main"
    use: Number | None = None
    by: EndedBy | None = None
    within_repeats: Annotated[int, Field(ge=0)] | None = None
    within: Seconds | None = None

    def judge(self, record: Record) -> Verdict:
        """Look for one use of the reply that ended like this."""
        uses = of_reply(record, self.session, self.reply, self.use)
        right = [exchange for exchange in uses if self._fits(exchange)]
        chosen = right or uses
        actual = "; ".join(end_words(exchange) for exchange in chosen[-SHOWN:]) or f"reply {self.reply} was not used"
        where = f"session {self.session}, reply {self.reply}"
        verdict = passed if right else failed
        return verdict(actual, self._words(), tuple(exchange.last for exchange in chosen), where)

    def _fits(self, exchange: Exchange) -> bool:
        end = exchange.end
        return (
            exchange.closed is not None
            and self.by in (None, end.get("ended_by"))
            and (self.within_repeats is None or end.get("repeats", 0) <= self.within_repeats)
            and (self.within is None or end.get("ms", 0) <= self.within * 1000)
        )

    def _words(self) -> str:
        words = f"closed by {self.by}" if self.by else "closed"
        if self.within_repeats is not None:
            words += f" within {self.within_repeats} repeats"
        return words + (f" within {self.within:g} s" if self.within is not None else "")


class ExchangeEnded(Expectation):
    """An exchange with the model ended like this.

    Fields: `reply` its number in the session's script, `session` (main by default), `use` which use of that reply, and
    `kind` (main, child, title, compaction) choose; `ended_by` (client, script, fault, killed, shutdown) and the HTTP
    `status` must hold for one of the chosen.
    """

    kind: ClassVar[str] = "exchange"
    reply: Number | None = None
    session: str = "main"
    use: Number | None = None
    of: Annotated[Kind | None, Field(alias="kind")] = None
    ended_by: EndedBy | None = None
    status: int | None = None

    @model_validator(mode="after")
    def _chooses(self) -> ExchangeEnded:
        if self.reply is None and self.of is None:
            raise ValueError("an exchange is chosen by 'reply' or 'kind'")
        return self

    def judge(self, record: Record) -> Verdict:
        """Look for one that ended as wanted."""
        chosen = [e for e in of_reply(record, self.session, self.reply, self.use) if self.of in (None, e.kind)]
        right = [e for e in chosen if self._fits(e)]
        words = [f"closed by {self.ended_by}"] if self.ended_by else []
        words += [f"status {self.status}"] if self.status is not None else []
        expected = " with ".join(words) or "an exchange that has ended"
        seen = "; ".join(end_words(exchange) for exchange in chosen[-SHOWN:]) or "no such exchange"
        where = f"session {self.session}" + (f", reply {self.reply}" if self.reply else f", kind {self.of}")
        return (passed if right else failed)(seen, expected, tuple(e.last for e in right or chosen), where)

    def _fits(self, exchange: Exchange) -> bool:
        return (
            exchange.closed is not None
            and self.ended_by in (None, exchange.end.get("ended_by"))
            and self.status in (None, exchange.end.get("status"))
        )


def of_reply(record: Record, session: str, reply: int | None, use: int | None) -> list[Exchange]:
    """Give the exchanges that this reply answered, or any."""
    return [
        exchange
        for exchange in exchanges(record)
        if exchange.session == session and reply in (None, exchange.reply) and use in (None, exchange.use)
    ]


def end_words(exchange: Exchange) -> str:
    """Say how an exchange ended: `exchange 2: closed by client after 61 chunks, 3 repeats, 0.64 s`."""
    if exchange.closed is None:
        return f"exchange {exchange.number}: still open"
    end = exchange.end
    sent = f"{end.get('chunks_sent', 0)} chunks, {end.get('repeats', 0)} repeats, {end.get('ms', 0) / 1000:.2f} s"
    status = f", status {end['status']}" if end.get("status") not in (None, 200) else ""
    return f"exchange {exchange.number}: closed by {end.get('ended_by')} after {sent}{status}"
