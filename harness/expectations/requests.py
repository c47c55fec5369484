"""The expectations about exchanges with the model: `requests`, `stream_closed`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from fakemodel.loading import Seconds
from harness.expectations.base import Count, Expectation, Verdict, failed, judge_count, passed
from harness.expectations.traffic import Exchange, exchanges

if TYPE_CHECKING:
    from harness.timeline import Record

__all__ = ["EndedBy", "Kind", "Number", "Requests", "StreamClosed", "end_words", "of_reply"]

EndedBy: TypeAlias = Literal["client", "script", "fault", "killed", "shutdown"]
Kind: TypeAlias = Literal["main", "child", "title", "compaction"]
Number: TypeAlias = Annotated[int, Field(ge=1)]


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
        what = f"requests of kind {self.of}" if self.of else "requests"
        where = f"session {self.session}" if self.session else ""
        return judge_count(self.times, tuple(e.received.seq for e in chosen), what, where)

    def claims_absence(self) -> bool:
        """Whether no request at all would pass."""
        return 0 in self.times


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
        actual = "; ".join(end_words(exchange) for exchange in chosen) or f"reply {self.reply} was not used"
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


def of_reply(record: Record, session: str, reply: int, use: int | None) -> list[Exchange]:
    """Give the exchanges that this reply answered."""
    return [
        exchange
        for exchange in exchanges(record)
        if exchange.session == session and exchange.reply == reply and use in (None, exchange.use)
    ]


def end_words(exchange: Exchange) -> str:
    """Say how an exchange ended: `exchange 2: closed by client after 61 chunks, 3 repeats, 0.64 s`."""
    if exchange.closed is None:
        return f"exchange {exchange.number}: still open"
    end = exchange.end
    sent = f"{end.get('chunks_sent', 0)} chunks, {end.get('repeats', 0)} repeats, {end.get('ms', 0) / 1000:.2f} s"
    return f"exchange {exchange.number}: closed by {end.get('ended_by')} after {sent}"
