"""Lets the first Ctrl-C end a run, and keeps the next ones from breaking off its cleaning up."""

from __future__ import annotations

import _thread
import signal
import threading
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import FrameType, TracebackType

__all__ = ["SIGNALS", "Shield"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
MOMENT = 0.001  # seconds
TAKING = threading.Condition.__enter__.__code__


class Shield:
    """Makes each signal that it catches end what runs as Ctrl-C does, and ignores all that follow until it is left.

    SIGTERM by itself would kill Python before anything is cleaned up. And people press Ctrl-C again when nothing seems
    to happen: that second one would land in the middle of stopping OpenCode, which takes some two seconds.
    A signal that is ignored when it comes, as by a shell in the background, stays so. Only the main thread may do this.
    """

    def __init__(self, *caught: signal.Signals) -> None:
        """Keep which signals it answers itself; a Ctrl-C that is not among them interrupts until `ignore` is called."""
        self._caught = caught
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Take the signals over."""
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in SIGNALS}
            for number, before in self._before.items():
                if before == signal.default_int_handler or (number in self._caught and before != signal.SIG_IGN):
                    signal.signal(number, self._end)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back their meaning, for a program that goes on."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def ignore(self) -> None:
        """Ignore what follows. Another thread than the main one gets here by `pytest.exit`."""
        if threading.current_thread() is threading.main_thread():
            for number in self._before:
                signal.signal(number, signal.SIG_IGN)

    def _end(self, number: int, frame: FrameType | None) -> None:
        if frame and frame.f_code is TAKING:
            # Raised there, it would leave the lock taken for ever (cpython issue 29988): a moment later it is safe.
            threading.Timer(MOMENT, _thread.interrupt_main, [number]).start()
            return
        if number in self._caught:
            self.ignore()
        raise KeyboardInterrupt
