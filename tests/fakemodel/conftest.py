"""A server for all tests of the fake model, and a stage for each."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir
from raw_client import RawClient, chat

from fakemodel import MARKERS, FakeModel, load_text, parse_script

if TYPE_CHECKING:
    from fakemodel.exchange import Event, Exchange
    from fakemodel.stage import Stage

# Found examples must not depend on the day, and a busy machine is no failure.
settings.register_profile("guardlab", deadline=None, derandomize=True, database=None, max_examples=60)
settings.load_profile("guardlab")
set_hypothesis_home_dir(Path(__file__).parents[2] / ".pytest_cache" / "hypothesis")


@dataclass
class Played:
    """A stage with what it told."""

    stage: Stage
    events: list[Event] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def hear(self, event: Event) -> None:
        """Take an event, on the server's thread."""
        with self.changed:
            self.events.append(event)
            self.changed.notify_all()

    def wait(self, kind: str, count: int = 1) -> None:
        """Wait until so many events of a kind were told."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.told(kind)) >= count, 10), f"no {kind}; told: {self.events}"

    @property
    def url(self) -> str:
        """Where chat requests go."""
        return f"{self.stage.base_url()}/chat/completions"

    def ask(self, body: dict | None = None, **headers: str) -> RawClient:
        """Send a chat request."""
        return RawClient(self.url, body or chat(), {name.replace("_", "-"): value for name, value in headers.items()})

    def answer(self, body: dict | None = None, **headers: str) -> bytes:
        """Send a chat request and read the whole answer."""
        with self.ask(body, **headers) as client:
            return client.read()

    def last(self, count: int | None = None) -> Exchange:
        """The record of the last exchange, once it (or so many) have ended."""
        return self.stage.journal.wait_for(count or self.stage.journal.received, timeout=10)[-1]

    def told(self, kind: str) -> list[Event]:
        """The events of one kind."""
        return [event for event in self.events if event.kind == kind]


@pytest.fixture(scope="session")
def model():
    with FakeModel() as server:
        yield server


@pytest.fixture
def play(model):
    """Open a stage for a script."""
    played = []

    def begin(text: str, markers: tuple[str, ...] = MARKERS) -> Played:
        one = Played(stage=None)
        one.stage = model.open(parse_script(load_text(text, "script.yaml"), ()), one.hear, markers)
        played.append(one)
        return one

    yield begin
    for one in played:
        one.stage.close()
    model.check()
