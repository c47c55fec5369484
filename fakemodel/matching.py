"""Which reply answers a request, and why none does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from fakemodel.conditions import Situation, difference
from fakemodel.exchange import UnusedReply

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fakemodel.exchange import EndedBy
    from fakemodel.request import Request
    from fakemodel.script import Reply, SessionScript

__all__ = ["Choice", "Miss", "Past", "Progress", "ReplyPool", "SessionProgress"]


class Past(Protocol):
    """What must be known of a session's last exchange to tell a retry from a new request."""

    @property
    def fate(self) -> EndedBy | None:
        """Who ended it, as far as is known by now."""

    @property
    def faulted(self) -> bool:
        """Whether a fault acted on it, or it was refused."""

    @property
    def chunks_sent(self) -> int:
        """How many chunks were sent."""


@dataclass(slots=True)
class Progress:
    """How far one reply has been used. ``position`` counts from 1 in its session's script (or in ``any_time``)."""

    reply: Reply
    position: int
    uses: int = 0
    attempts: int = 0
    call_ids: set[str] = field(default_factory=set)
    blocked: set[str] = field(default_factory=set)
    held: bool = False

    def look(self, situation: Situation) -> None:
        """Take from a request what ``until`` waits for; a reply is used at least once before it can end."""
        until = self.reply.until
        if until is None or not self.uses or self.held:
            return
        for result in situation.request.results:
            if result.call_id in self.call_ids and situation.marked(result.text):
                self.blocked.add(result.call_id)
        enough = until.blocked is not None and len(self.blocked) >= until.blocked
        self.held = enough or (until.when is not None and difference(until.when, situation) is None)

    @property
    def spent(self) -> bool:
        """Whether it has answered all that it may, and what ``until`` waits for has come."""
        return self.held if self.reply.until else self.uses >= self.reply.times

    def refusal(self, situation: Situation) -> str | None:
        """Say why this reply does not answer the request, or None when it does."""
        if self.reply.until and self.uses >= self.reply.times:
            seen = (
                ""
                if self.reply.until.blocked is None
                else f"; {len(self.blocked)} of {self.reply.until.blocked} were blocked"
            )
            return f"until: it was used {self.uses} times, its max, and the condition does not hold{seen}"
        return difference(self.reply.when, situation) if self.reply.when else None

    def unused(self, session: str) -> UnusedReply | None:
        """Return what is missing when a required reply was not used up."""
        until = self.reply.until
        wanted = 1 if until else self.reply.times
        if self.reply.optional or self.uses >= wanted:
            return None
        return UnusedReply(session, self.position, self.uses, wanted, self.reply.span, self.reply)


@dataclass(frozen=True, slots=True)
class Choice:
    """The reply that answers: its progress, which use (from 1) this is, and which attempt at that reply (from 1)."""

    progress: Progress
    use: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Miss:
    """No reply answers, and why."""

    reason: str


class ReplyPool:
    """Replies that their ``when`` picks out of order, for every session."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.entries = [Progress(reply, position) for position, reply in enumerate(replies, 1)]

    def pick(self, situation: Situation) -> Progress | None:
        """Return the first that is not spent and whose condition holds."""
        for entry in self.entries:
            entry.look(situation)
        return next((entry for entry in self.entries if not entry.spent and not entry.refusal(situation)), None)


class SessionProgress:
    """Where one session stands in its script."""

    def __init__(self, script: SessionScript, pool: ReplyPool) -> None:
        self.name = script.name
        self.entries = [Progress(reply, position) for position, reply in enumerate(script.replies, 1)]
        self.past: Past | None = None
        self._pool = pool
        self._body: Mapping[str, Any] | None = None
        self._choice: Choice | None = None

    def choose(self, request: Request, markers: tuple[str, ...]) -> Choice | Miss:
        """Pick the reply for a request and count its use; a retry gets the reply that it got before."""
        situation = Situation(request, self.past.fate if self.past else None, markers)
        if self._choice and self._is_retry(request):
            progress = self._choice.progress
            progress.attempts += 1
            self._choice = Choice(progress, self._choice.use, progress.attempts)
            return self._choice
        found = self._next(situation)
        self._body = request.body
        if isinstance(found, Miss):
            self._choice = None
            return found
        found.uses += 1
        found.attempts += 1
        self._choice = Choice(found, found.uses, found.attempts)
        return self._choice

    def _is_retry(self, request: Request) -> bool:
        """Say whether the client asks the same again: it says so, or had a fault, or left before the first chunk."""
        if self.past is None or self._body != request.body:
            return False
        says_so = request.headers.get("x-stainless-retry-count", "0") != "0"
        return says_so or self.past.faulted or (self.past.fate == "client" and not self.past.chunks_sent)

    def _next(self, situation: Situation) -> Progress | Miss:
        reason = None
        for entry in self._open(situation):
            reason = entry.refusal(situation)
            if reason is None:
                return entry
            if not entry.reply.optional:
                reason = f"nearest reply: {entry.position}, differs in {reason}"
                break
            reason = f"nearest reply: {entry.position} (optional), differs in {reason}"
        picked = self._pool.pick(situation)
        if picked is not None:
            return picked
        return Miss(reason or f"{self._nothing_left()}; the last role is {situation.request.last_role}")

    def _open(self, situation: Situation) -> Iterator[Progress]:
        for entry in self.entries:
            entry.look(situation)
            if not entry.spent:
                yield entry

    def _nothing_left(self) -> str:
        count = len(self.entries)
        return f"session {self.name} has no reply left ({count} of {count} used)"
