"""Where guardlab's own threads are stuck, for the message of a deadline."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["stuck"]

SHOWN = 3
OURS = ("harness.", "fakemodel.")


def stuck() -> list[str]:
    """Name each other thread that is in the middle of something, with the innermost of its functions that are ours.

    A thread that has not left the module of ours in which it began waits for what comes from outside: it is at rest.
    """
    frames = sys._current_frames()  # noqa: SLF001 - the documented way to see another thread's stack
    here = threading.get_ident()
    found = []
    for thread in threading.enumerate():
        ours = list(_ours(frames.get(thread.ident or 0))) if thread.ident != here else []
        if len({module for module, _ in ours}) > 1:
            places = [f"{module}.{place}" for module, place in ours[:SHOWN]]
            found.append(f"thread {thread.name} is in {', called by '.join(places)}")
    return found


def _ours(frame: FrameType | None) -> Iterator[tuple[str, str]]:
    while frame:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith(OURS):
            yield module, f"{frame.f_code.co_name} (line {frame.f_lineno})"
        frame = frame.f_back
