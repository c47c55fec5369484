"""A scripted model provider for tests of agents: strict, truthful about who ended a stream, and fast."""

from __future__ import annotations

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
