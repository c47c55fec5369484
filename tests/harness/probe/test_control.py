"""The harness's end of the probe: who may speak, how entries are placed, and what orders do."""

from __future__ import annotations

import socket
import threading
import time
from types import SimpleNamespace

import pytest
from talker import HERE, THERE, Probe, Seen

from harness.errors import DeadlineError
from harness.probe import control as room
from harness.probe.control import PINGS, Control, _Link


@pytest.fixture
def control():
    made = Control()
    made.start()
    yield made
    if made._thread.is_alive():
        made.stop()


@pytest.fixture
def connect(control):
    """Connect a probe; it leaves when the test is over."""
    probes = []

    def make(*, mute=False, token=None):
        probe = Probe(control, token)
        probes.append(probe)
        return probe if mute else probe.start()

    yield make
    for probe in probes:
        probe.leave()


@pytest.fixture
def seen(control):
    entries = Seen()
    control.watch(HERE, entries)
    return entries


def gone(control):
    """Wait until the harness has seen that every probe left."""
    until = time.monotonic() + 10
    while control._links:
        assert time.monotonic() < until


# -- who may speak


def hung_up(probe):
    try:
        return probe.order() is None
    except ConnectionError:
        return True


def test_a_wrong_token_is_refused(control, connect, seen):
    probe = connect(mute=True, token="guessed")
    assert hung_up(probe)
    assert control.flush() == 0.0
    assert (seen.kinds, control.errors) == ([], [])


@pytest.mark.parametrize(
    "line", [b"GET / HTTP/1.1\r\n", b"[]\n", b"{}\n", b'{"data": null}\n', b'{"data": []}\n', b"\xff\n", b"x"]
)
def test_a_stranger_is_left_alone(control, line):
    host, port = control.address.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as stranger:
        stranger.sendall(line)
        stranger.shutdown(socket.SHUT_WR)
        assert stranger.recv(1) == b""
    assert control.errors == []


# -- entries and clocks


def test_a_probe_is_greeted_with_pings(connect):
    probe = connect(mute=True)
    assert [probe.order() for _ in range(PINGS)] == [{"order": "ping", "id": n} for n in range(-PINGS, 0)]


def test_entries_are_placed_on_our_clock(connect, seen):
    probe = connect()
    before = time.monotonic()
    probe.send("hook.event", HERE, {"type": "session.idle"}, session="ses_1")
    after = time.monotonic()
    probe.send("config", HERE)
    first, second = seen.wait(2)
    assert (first.kind, first.directory, first.session) == ("hook.event", HERE, "ses_1")
    assert (first.data, second.data, second.session) == ({"type": "session.idle"}, {}, None)
    assert 0 < first.error < 10
    assert before - first.error <= first.at <= after + first.error
    assert first.seq < second.seq


def test_entries_that_come_before_the_handshake_wait_for_it(control, connect, seen):
    probe = connect(mute=True)
    for kind in ("instance", "loaded", "config"):
        probe.send(kind, HERE)
    first = probe.order()
    assert seen.kinds == []
    probe.pong(first)
    seen.wait(3)
    probe.start()
    control.flush()
    assert seen.kinds == ["instance", "loaded", "config"], "in order, and once"


def test_the_best_handshake_counts(connect, seen):
    probe = connect(mute=True)
    pings = [probe.order() for _ in range(PINGS)]
    # The last ping is answered first: its round trip is the shortest, whatever the machine does.
    true = time.monotonic()
    probe.pong(pings[-1])
    probe.send("a", HERE, at=true)
    good = seen.wait(1)[0]
    probe.pong(pings[0], at=time.monotonic() + 3600)
    probe.send("b", HERE, at=true)
    late = seen.wait(2)[1]
    assert (late.at, late.error) == (good.at, good.error)
    assert abs(good.at - true) <= good.error


def test_the_clocks_are_equal_in_the_middle_of_the_round_trip(monkeypatch):
    placed = []
    link = _Link(SimpleNamespace(_deliver=lambda _link, entry: placed.append(entry)), None)
    link.pings[1] = (10.0, threading.Event())
    monkeypatch.setattr(room, "time", SimpleNamespace(monotonic=lambda: 12.0))
    link.take({"kind": "pong", "t": 5_000_000, "data": {"id": 1}})
    link.take({"kind": "config", "t": 5_001_500, "seq": 2, "directory": HERE})
    assert [(entry.at, entry.error) for entry in placed] == [(12.5, 1.0)]


def test_each_directory_has_its_own_sink(control, connect, seen):
    there = Seen()
    control.watch(THERE, there)
    probe = connect()
    for directory, kind in ((HERE, "a"), (THERE, "b"), ("/ws/elsewhere", "c"), (HERE, "d")):
        probe.send(kind, directory)
    control.flush()
    assert (seen.kinds, there.kinds) == (["a", "d"], ["b"])
    control.watch(HERE, None)
    control.watch("/never/watched", None)
    probe.send("e", HERE)
    probe.send("f", THERE)
    control.flush()
    assert (seen.kinds, there.kinds) == (["a", "d"], ["b", "f"])


# -- orders


def test_flush_returns_when_everything_was_said(control, connect, seen):
    probe = connect()
    probe.before_pong = lambda: [probe.send(kind, HERE) for kind in "abc"]
    error = control.flush()
    assert seen.kinds == ["a", "b", "c"]
    assert probe.orders == [{"order": "ping", "id": 1}]
    assert 0 < error < 10


def test_flush_gives_the_worst_clock_error(control, connect):
    for probe in (connect(), connect()):
        probe.send("instance", HERE)
    control.flush()
    errors = [link.error for link in control._links]
    assert len(errors) == 2
    assert control.flush() <= max(errors), "a better handshake can only help"


def test_flush_without_a_probe(control):
    assert control.flush() == 0.0


def test_a_probe_that_does_not_answer(control, connect):
    probe = connect(mute=True)
    probe.order()
    with pytest.raises(DeadlineError) as caught:
        control.flush(0.01)
    assert str(caught.value) == (
        "OpenCode's process has not answered the probe's ping for 0.01 s; its event loop is blocked"
    )


def test_a_probe_that_leaves_is_not_waited_for(control, connect):
    probe = connect(mute=True)
    for _ in range(PINGS):
        probe.pong(probe.order())
    flushed = []
    flushing = threading.Thread(target=lambda: flushed.append(control.flush(60)))
    flushing.start()
    assert probe.order() == {"order": "ping", "id": 1}
    probe.leave()
    flushing.join(timeout=10)
    assert flushed == [0.0]


def test_a_probe_that_has_left_is_not_waited_for():
    link = _Link(None, SimpleNamespace(request=SimpleNamespace(sendall=lambda _data: None), hang_up=lambda: None))
    link.close()
    began = time.monotonic()
    assert link.ask({"order": "ping"}, 5) == 0.0
    assert time.monotonic() - began < 4


def test_a_gate_is_opened_in_every_process(control, connect):
    probes = [connect(), connect()]
    control.flush()
    control.release(HERE, "status")
    for probe in probes:
        assert probe.orders[1:] == [{"order": "release", "directory": HERE, "gate": "status", "id": 2}]


def test_the_clock_moves_in_the_process_of_the_workspace_alone(control, connect, seen):
    home, other = connect(), connect()
    home.send("instance", HERE)
    seen.wait(1)
    control.move_clock(HERE, 26.0)
    control.move_clock(THERE, 5.0)
    assert home.orders == [{"order": "clock", "ms": 26_000.0, "id": 1}]
    assert other.orders == []
    control.watch(HERE, None)
    control.move_clock(HERE, 1.0)
    assert len(home.orders) == 1, "a scenario that is over moves no clock"


# -- the end


def test_a_process_that_was_killed_in_the_middle_of_a_line(control, connect, seen):
    probe = connect()
    control.flush()
    probe.send("a", HERE)
    probe.raw(b'{"seq": 99, "t": 1, "kind": "half')
    probe.leave()
    gone(control)
    assert (seen.kinds, control.errors) == (["a"], [])
    assert control.flush() == 0.0


def test_whether_a_workspace_is_reached(control, connect, seen):
    assert not control.reaches(HERE)
    probe = connect()
    probe.send("a", HERE)
    seen.wait(1)
    assert (control.reaches(HERE), control.reaches(THERE)) == (True, False)
    probe.leave()
    gone(control)
    assert not control.reaches(HERE)


def test_what_a_reader_dies_of_is_kept(control, connect):
    probe = connect()
    control.flush()
    probe.raw(b"nonsense\n")
    gone(control)
    probe.leave()
    control.stop()
    assert control.errors[0].startswith("probe reader: JSONDecodeError(")


@pytest.mark.usefixtures("no_new_threads")
def test_stopping_hangs_up_and_leaves_no_thread():
    control = Control()
    control.start()
    probes = [Probe(control).start(), Probe(control)]
    probes[1].order()
    control.stop()
    probes[0].thread.join(timeout=10)
    assert any(hung_up(probes[1]) for _ in range(PINGS)), "after what was under way"
    for probe in probes:
        probe.leave()
