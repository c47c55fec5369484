"""Lets the first Ctrl-C end a run, and keeps the next ones from breaking off its cleaning up."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest

__all__ = ["shield"]

NAME = "guardlab-interrupt"


class Interrupt:
    """A plugin for runs that own processes: once pytest was interrupted, Ctrl-C is ignored until they are gone.

    People press it again when nothing seems to happen. That second one would land in the middle of stopping OpenCode,
    which takes some two seconds, or in pytest's own code, which answers with a traceback.
    """

    def __init__(self) -> None:
        """Let SIGTERM end a run as Ctrl-C does: by itself it would kill Python before anything is cleaned up."""
        self._before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._before[signal.SIGTERM] = signal.signal(signal.SIGTERM, signal.default_int_handler)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        """Ignore what follows. Only the main thread may; another one gets here by `pytest.exit`."""
        if threading.current_thread() is threading.main_thread():
            self._before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def restore(self) -> None:
        """Give the signals back their meaning, for a program that goes on after `pytest.main`."""
        for number, handler in self._before.items():
            signal.signal(number, handler)


def shield(config: pytest.Config) -> None:
    """Shield what is cleaned up by functions that are added to `config` from now on; once is enough."""
    if not config.pluginmanager.hasplugin(NAME):
        interrupt = Interrupt()
        config.pluginmanager.register(interrupt, NAME)
        config.add_cleanup(interrupt.restore)
