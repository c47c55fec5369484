from __future__ import annotations

import os
import sys
from uuid import uuid4

import psutil
import pytest

from harness.errors import CrashError, DeadlineError
from harness.opencode import server as room
from harness.opencode.binary import Binary
from harness.opencode.server import Server
from harness.process.supervisor import Supervisor

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="its programs are scripts"),
    pytest.mark.usefixtures("no_new_threads"),
]
# A stand-in for `opencode serve`; the variable MODE says what goes wrong.
PROGRAM = """#!{python}
import os, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
mode = os.environ.get("MODE")
if mode == "ends":
    sys.exit("Unexpected error")
if mode == "silent":
    threading.Event().wait()

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500 if mode == "refuses" else 200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if mode != "refuses":
            threading.Event().wait()

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print("args", *sys.argv[1:], os.environ.get("OPENCODE_SERVER_PASSWORD", "")[:0])
print(f"opencode server listening on http://127.0.0.1:{{server.server_address[1]}}", flush=True)
server.serve_forever()
"""


@pytest.fixture
def make(tmp_path, home):
    """Make a server whose program is the stand-in."""
    path = tmp_path / "opencode"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(0o755)
    made = []
    with Supervisor(f"test-{uuid4()}") as supervisor:

        def server(**environment):
            made.append(Server(Binary(path, "1.18.33", "given"), home, supervisor, environment))
            return made[-1]

        yield server
        for one in made:
            one.stop()
        assert supervisor.sweep() == []


def test_a_server_from_start_to_stop(make, home, tmp_path):
    server = make()
    assert (server.alive, server.address) == (False, "")
    for what in ("child", "events"):
        with pytest.raises(CrashError, match=r"^OpenCode is not running$"):
            getattr(server, what)
    server.start()
    assert server.alive
    assert server.address.startswith("http://127.0.0.1:")
    assert server.child.output().startswith("args serve --hostname 127.0.0.1 --port 0")
    assert server.child.log == home.root / "serve.log"
    assert not server.events.closed.is_set()
    driver = server.driver(tmp_path)
    assert str(driver._client.base_url) == server.address
    driver.close()
    pid = server.child.pid
    server.stop()
    server.stop()
    assert not server.alive
    assert not psutil.pid_exists(pid)


def test_a_server_is_whole_while_its_event_stream_is_open(make):
    server = make()
    assert not server.whole
    server.start()
    assert server.whole
    server.events.stop()
    assert (server.alive, server.whole) == (True, False)
    server.stop()
    assert not server.whole


def test_its_environment_lies_over_that_of_its_home(make, home):
    server = make(HOME="/other", EXTRA="1")
    server.start()
    environment = psutil.Process(server.child.pid).environ()
    assert {**home.environment(), "HOME": "/other", "EXTRA": "1"}.items() <= environment.items()


def test_a_server_that_was_killed_starts_again(make):
    server = make()
    server.start()
    events = server.events
    server.kill()
    assert not server.alive
    assert events.closed.is_set()
    assert events.error is None or not server.alive
    server.start()
    assert server.alive
    assert not server.events.closed.is_set()
    assert server.child.output().count("listening") == 1, "a restarted program's output is its own"


def test_a_program_that_ends(make):
    server = make(MODE="ends")
    with pytest.raises(CrashError) as caught:
        server.start()
    assert str(caught.value) == (
        "opencode serve ended with exit code 1 before it was ready; it printed:\nUnexpected error"
    )
    assert not server.alive


def test_a_program_that_does_not_listen(make, monkeypatch):
    monkeypatch.setattr(room, "LISTEN_SECONDS", 0.05)
    server = make(MODE="silent")
    with pytest.raises(DeadlineError, match=r"^opencode serve \(process \d+\) did not print a line like "):
        server.start()
    assert not server.alive


def test_a_program_without_an_event_stream(make):
    server = make(MODE="refuses")
    with pytest.raises(CrashError, match=r"/global/event: Server error '500 Internal Server Error'"):
        server.start()
    assert not server.alive
