from __future__ import annotations

import threading

import pytest
from talking import Talking

from harness.errors import CrashError, DeadlineError
from harness.opencode import events as room
from harness.opencode.events import Events


@pytest.fixture
def events(opencode):
    made = Events(opencode.address, "secret")
    made.start()
    yield made
    made.stop()


class Sink:
    """Keeps events; `until` waits for one of that kind."""

    def __init__(self):
        self.seen = []
        self.came = threading.Condition()

    def __call__(self, kind, properties):
        with self.came:
            self.seen.append((kind, properties))
            self.came.notify_all()

    def until(self, kind):
        with self.came:
            assert self.came.wait_for(lambda: any(kind == one for one, _ in self.seen), 10), self.seen
        return self.seen


def ended(events):
    assert events.closed.wait(10)
    events._thread.join(timeout=10)
    return not events._thread.is_alive()


def test_each_workspace_gets_its_events(opencode, events):
    here, there = Sink(), Sink()
    events.watch("/w", here)
    events.watch("/there", there)
    opencode.say({"type": "session.idle", "id": "evt_1", "properties": {"sessionID": "ses_1"}})
    opencode.say({"type": "session.idle", "id": "evt_2", "properties": {"sessionID": "ses_2"}}, directory="/there")
    opencode.say({"type": "session.idle", "id": "evt_3"}, directory="/nowhere")
    opencode.say({"type": "last", "id": "evt_4"})
    opencode.say({"type": "last", "id": "evt_5"}, directory="/there")
    assert here.until("last") == [("session.idle", {"sessionID": "ses_1", "_id": "evt_1"}), ("last", {"_id": "evt_4"})]
    assert there.until("last") == [("session.idle", {"sessionID": "ses_2", "_id": "evt_2"}), ("last", {"_id": "evt_5"})]
    method, path, headers, _ = opencode.asked[0]
    assert (method, path, headers["authorization"][:6]) == ("GET", "/global/event", "Basic ")


def test_what_is_left_out(opencode, events):
    sink = Sink()
    events.watch("/w", sink)
    left_out = ("message.part.delta", "server.heartbeat", "server.connected", "sync", "plugin.added", "catalog.updated")
    opencode.say(*({"type": kind, "properties": {}} for kind in left_out))
    opencode.raw(": a comment\n\n")
    opencode.raw('data: {"directory": "/w"}\n\n')
    opencode.raw('data: {"payload": {"type": "without a directory"}}\n\n')
    opencode.say({"type": "last", "properties": None})
    assert sink.until("last")[-1] == ("last", {"_id": None})
    assert [kind for kind, _ in sink.seen if kind] == ["last"]


def test_nobody_watches_any_more(opencode, events):
    first, second = Sink(), Sink()
    events.watch("/w", first)
    events.watch("/other", second)
    events.watch("/w", None)
    events.watch("/never", None)
    opencode.say({"type": "a"})
    opencode.say({"type": "last"}, directory="/other")
    second.until("last")
    assert first.seen == []


def test_a_stream_that_is_refused(opencode):
    opencode.greeting = 401
    opencode.hang_up()
    events = Events(opencode.address, "wrong")
    with pytest.raises(CrashError, match=rf"^{opencode.address}/global/event: Client error '401 Unauthorized'"):
        events.start()
    events.stop()
    assert ended(events)


def test_a_server_that_is_not_there():
    gone = Talking()
    gone.stop()
    events = Events(gone.address, "secret")
    with pytest.raises(CrashError, match=rf"^{gone.address}/global/event: .*refused"):
        events.start()
    events.stop()
    assert ended(events)


def test_a_server_that_does_not_answer(opencode, monkeypatch):
    opencode.greeting = None
    monkeypatch.setattr(room, "CONNECT_SECONDS", 0.02)
    events = Events(opencode.address, "secret")
    with pytest.raises(DeadlineError) as caught:
        events.start()
    assert str(caught.value) == f"{opencode.address}/global/event was not opened within 0.02 s"
    opencode.hang_up()
    events.stop()
    assert ended(events)


def test_stopping_wakes_a_read_that_is_blocked(opencode):
    events = Events(opencode.address, "secret")
    events.start()
    events.stop()
    assert ended(events)
    assert events.error is None, "an end that was wanted is no error"


def test_a_stream_that_ends_by_itself_is_told(opencode, events):
    opencode.hang_up()
    assert ended(events)
    assert "peer closed connection" in str(events.error)


def test_what_is_no_event_ends_the_stream_with_an_error(opencode, events):
    opencode.raw("data: nonsense\n\n")
    assert ended(events)
    assert str(events.error).startswith("Expecting value")


def test_an_error_of_a_sink_ends_the_stream_with_it(opencode, events):
    def sink(_kind, _properties):
        raise KeyError("boom")

    events.watch("/w", sink)
    opencode.say({"type": "a"})
    assert ended(events)
    assert repr(events.error) == "KeyError('boom')"
