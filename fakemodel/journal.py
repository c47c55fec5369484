"""What the fake model received and sent: append-only, bounded, and able to wait for more or for silence."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemodel.exchange import Exchange

__all__ = ["Journal", "JournalError"]

KEPT = 1000
"""Exchanges that a journal keeps; the oldest closed ones make room."""


class JournalError(AssertionError):
    """What was waited for did not come, or what should not come did; the message holds the exchanges seen."""


class Journal:
    """The exchanges of one stage, oldest first. Safe to read from any thread."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._changed = threading.Condition()
        self._exchanges: OrderedDict[int, Exchange] = OrderedDict()
        self._received = 0
        self.dropped = 0

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges kept, as they stand now."""
        with self._changed:
            return tuple(self._exchanges.values())

    @property
    def received(self) -> int:
        """How many exchanges there were, the dropped ones included."""
        return self._received

    def put(self, exchange: Exchange) -> None:
        """Add an exchange, or replace its older state."""
        with self._changed:
            if exchange.number not in self._exchanges:
                self._received = max(self._received, exchange.number)
            self._exchanges[exchange.number] = exchange
            while len(self._exchanges) > self._kept:
                self._exchanges.popitem(last=False)
                self.dropped += 1
            self._changed.notify_all()

    def wait_for(self, count: int, timeout: float = 10.0, *, closed: bool = True) -> tuple[Exchange, ...]:
        """Return the exchanges once ``count`` of them were received and, unless told otherwise, have ended.

        ``timeout`` is in seconds. Raises JournalError with what was seen when they do not come in time.
        """

        def there() -> bool:
            done = sum(1 for exchange in self._exchanges.values() if exchange.closed_at is not None) + self.dropped
            return (done if closed else self._received) >= count

        self._await(there, timeout, f"{count} exchange(s){' that ended' if closed else ''}")
        return self.exchanges

    def silence(self, seconds: float) -> None:
        """Return when no request came for so many seconds from now; raises JournalError at once when one comes."""
        before = self._received
        with self._changed:
            if self._changed.wait_for(lambda: self._received > before, seconds):
                raise JournalError(f"wanted no request for {seconds:g} s, got one: {self._seen()}")

    def _await(self, there: Callable[[], bool], timeout: float, wanted: str) -> None:
        begun = time.monotonic()
        with self._changed:
            if not self._changed.wait_for(there, timeout):
                waited = time.monotonic() - begun
                raise JournalError(f"waited {waited:.1f} s for {wanted}; seen: {self._seen()}")

    def _seen(self) -> str:
        shown = [
            f"#{exchange.number} {exchange.session or 'no session'} reply {exchange.reply or 'none'} "
            f"ended by {exchange.ended_by or 'nobody yet'} ({exchange.chunks_sent} chunks)"
            for exchange in list(self._exchanges.values())[-5:]
        ]
        return "; ".join(shown) or "no exchange"
