"""What a program that owns processes makes of a request to end."""

from __future__ import annotations

import signal
import threading

__all__ = ["sigterm_as_interrupt"]


def sigterm_as_interrupt() -> None:
    """Let SIGTERM end this program as Ctrl-C does: by itself it would kill Python before anything is cleaned up.

    Only the main thread can; in another one nothing changes.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
