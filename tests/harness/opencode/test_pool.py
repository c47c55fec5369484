from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.errors import CrashError, DeadlineError, NotLoadedError, SetupError
from harness.opencode import pool as room
from harness.opencode.binary import Binary
from harness.opencode.pool import Pool


class Machine:
    """A server that is up or down as the test says."""

    made: tuple[Machine, ...] = ()

    def __init__(self, _binary, home, _supervisor, environment):
        self.home = home
        self.environment = environment
        self.used = 0
        self.address = "http://127.0.0.1:4096"
        self.alive = self.whole = False
        self.stops = 0
        self.child = SimpleNamespace(pid=len(Machine.made) + 1)
        Machine.made += (self,)

    def start(self):
        self.alive = self.whole = True

    def stop(self):
        self.alive = self.whole = False
        self.stops += 1


@pytest.fixture
def memory(monkeypatch):
    """How much memory a process id has."""
    sizes = {}
    monkeypatch.setattr(Machine, "made", ())
    monkeypatch.setattr(room, "Server", Machine)

    def process(pid):
        return SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=sizes.get(pid, 0)))

    monkeypatch.setattr(room, "psutil", SimpleNamespace(Process=process))
    return sizes


@pytest.fixture
def pool(memory, tmp_path):  # noqa: ARG001 - the stand-ins
    return Pool(
        Binary(tmp_path / "opencode", "1.18.33", "given"), tmp_path / "rg", tmp_path, "http://127.0.0.1:9", None
    )


def lend(pool, *, alone=False, environment=None):
    with pool.lend(alone=alone, environment=environment or {}) as server:
        assert server.alive
    return server


def test_a_shared_server_is_lent_again(pool):
    assert pool.running == (), "nothing is started before it is wanted"
    first = lend(pool)
    assert lend(pool) is first
    assert (first.used, first.stops, first.environment) == (2, 0, {})
    assert pool.running == (1,)
    pool.stop()
    assert (first.stops, pool.running) == (1, ())
    assert not first.home.root.exists()
    pool.stop()
    assert first.stops == 1


def test_a_server_of_its_own_ends_with_its_scenario(pool):
    shared = lend(pool)
    with pool.lend(alone=True, environment={"A": "1"}) as server:
        assert server is not shared
        assert (server.environment, server.used) == ({"A": "1"}, 1)
        assert pool.running == (shared.child.pid,)
    assert (server.stops, shared.stops) == (1, 0)
    assert not server.home.root.exists()
    assert lend(pool) is shared


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("error", [DeadlineError("late"), CrashError("gone"), KeyError()])
def test_a_server_whose_scenario_ended_in_an_error_is_not_lent_again(pool, alone, error):
    with pytest.raises(type(error)), pool.lend(alone=alone, environment={}) as server:
        raise error
    assert (server.stops, pool.running) == (1, ())
    assert not server.home.root.exists()


@pytest.mark.parametrize("error", [SetupError("no git"), NotLoadedError("refused"), KeyboardInterrupt()])
def test_a_scenario_that_did_not_begin_or_was_interrupted_leaves_its_server(pool, error):
    with pytest.raises(type(error)), pool.lend(alone=False, environment={}) as server:
        raise error
    assert lend(pool) is server


@pytest.mark.parametrize("what", ["alive", "whole"])
def test_a_shared_server_that_broke_is_not_lent_again(pool, what):
    """One that lives, but whose event stream has ended, shows no scenario either."""
    with pool.lend(alone=False, environment={}) as server:
        server.whole = False
        setattr(server, what, False)
    assert server.stops == 1
    assert pool.running == ()
    assert lend(pool) is not server


def test_a_shared_server_that_broke_between_two_scenarios(pool):
    server = lend(pool)
    server.whole = False
    assert lend(pool) is not server
    assert server.stops == 1


def test_a_server_that_can_not_be_stopped_leaves_no_home(pool, monkeypatch):
    def stop(_server):
        raise DeadlineError("still runs")

    monkeypatch.setattr(Machine, "stop", stop)
    with pytest.raises(DeadlineError), pool.lend(alone=True, environment={}) as server:
        pass
    assert not server.home.root.exists()


def test_a_server_is_worn_by_use(pool, monkeypatch):
    monkeypatch.setattr(room, "MOST_SCENARIOS", 2)
    first = lend(pool)
    assert lend(pool) is first
    second = lend(pool)
    assert second is not first
    assert (first.stops, second.used) == (1, 1)


def test_a_server_is_worn_by_memory(pool, memory):
    first = lend(pool)
    memory[first.child.pid] = room.MOST_MEMORY
    assert lend(pool) is first
    memory[first.child.pid] = room.MOST_MEMORY + 1
    assert lend(pool) is not first
    assert first.stops == 1


def test_a_server_that_could_not_be_left_clean_is_discarded(pool):
    with pool.lend(alone=False, environment={}) as server:
        pool.discard(server)
    assert server.stops == 1
    assert lend(pool) is not server
    with pool.lend(alone=True, environment={}) as own:
        pool.discard(own)
        assert own.stops == 0, "it ends by itself"


def test_a_server_with_an_open_port_is_not_lent_again(pool, monkeypatch):
    asked, ports = [], []
    monkeypatch.setattr(room, "left_open", lambda *given: asked.append(given) or list(ports))
    assert (pool.left_open(2.0), asked) == ([], [])
    server = lend(pool)
    assert (pool.left_open(2.0), asked) == ([], [(server.child, [4096], 2.0)])
    assert lend(pool) is server
    ports.append(8000)
    assert (pool.left_open(2.0), server.stops) == ([8000], 1)
    assert lend(pool) is not server


def test_every_home_is_another_one(pool):
    homes = {pool.make_home().root, pool.make_home().root, lend(pool).home.root, lend(pool, alone=True).home.root}
    assert len(homes) == 4
