"""A scripted model provider for tests of agents: strict, truthful about who ended a stream, and fast."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakemodel.exchange import Event, Exchange, UnusedReply
    from fakemodel.journal import Journal, JournalError
    from fakemodel.loading import SourceError, load_file, load_text, parse_script
    from fakemodel.script import Script
    from fakemodel.server import FakeModel, FakeModelError
    from fakemodel.stage import MARKERS, Stage, StageError

__all__ = [
    "MARKERS",
    "Event",
    "Exchange",
    "FakeModel",
    "FakeModelError",
    "Journal",
    "JournalError",
    "Script",
    "SourceError",
    "Stage",
    "StageError",
    "UnusedReply",
    "load_file",
    "load_text",
    "parse_script",
]

_HOMES = {
    "exchange": ("Event", "Exchange", "UnusedReply"),
    "journal": ("Journal", "JournalError"),
    "loading": ("SourceError", "load_file", "load_text", "parse_script"),
    "script": ("Script",),
    "server": ("FakeModel", "FakeModelError"),
    "stage": ("MARKERS", "Stage", "StageError"),
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: reading scripts must not load the server."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"fakemodel.{home}"), name)
    raise AttributeError(f"module 'fakemodel' has no attribute {name!r}")
