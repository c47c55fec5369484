from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.errors import DeadlineError
from harness.opencode.binary import Binary
from harness.opencode.oneshot import OneShot


class Supervisor:
    """Notes what it is to start."""

    def __init__(self):
        self.started = []
        self.output = ""
        self.stopped = []

    def spawn(self, command, **given):
        self.started.append((command, given))
        given["errors"].write_text("", encoding="utf-8")
        return SimpleNamespace(output=lambda: self.output)

    def stop(self, child):
        self.stopped.append(child)
        if len(self.stopped) == 1:
            raise DeadlineError("still runs")


@pytest.fixture
def supervisor():
    return Supervisor()


@pytest.fixture
def program(supervisor, home):
    return OneShot(Binary(Path("/oc/opencode"), "1.18.33", "given"), home, supervisor, {"EXTRA": "1", "HOME": "/other"})


def test_the_first_prompt_has_a_title_and_the_next_go_on(program, supervisor, home, tmp_path):
    first = program.start(tmp_path, "Check the  tree")
    program.start(tmp_path, "--help")
    (one, given), (two, _) = supervisor.started
    start = [str(Path("/oc/opencode")), "run", "--format", "json"]
    assert one == [*start, "--title", "guardlab main", "--", "Check", "the", "", "tree"]
    assert two == [*start, "--continue", "--", "--help"], "a prompt that looks like an option is none"
    assert given == {
        "env": {**home.environment(), "EXTRA": "1", "HOME": "/other"},
        "cwd": tmp_path,
        "log": home.root / "run.log",
        "errors": home.root / "run-0.stderr",
        "name": "opencode run",
    }
    assert program.children[0] is first
    assert len(program.children) == 2


def test_stop_ends_every_process_and_removes_the_home(program, supervisor, home, tmp_path):
    children = [program.start(tmp_path, text) for text in ("one", "two")]
    with pytest.raises(DeadlineError):  # one that can't be stopped does not keep the rest
        program.stop()
    assert supervisor.stopped == children[::-1]
    assert not home.root.exists()


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ('{"type": "text", "sessionID": "ses_1"}', True),
        ('{"type": "error", "error": {}}', True),
        ("", False),
        ("Error: x", False),
        ("{not json}", False),
        ('{"type": "text", "half', False),
        ('{"level": "info"}', False),
        ('["type"]', False),
        (' {"type": "text"}', False),
    ],
)
def test_what_is_an_event(program, supervisor, tmp_path, line, event):
    supervisor.output = f"{line}\n"
    assert bool(program.said(program.start(tmp_path, "Go.")).events) is event


def test_events_keep_their_order(program, supervisor, tmp_path):
    supervisor.output = 'warning\n{"type": "text", "n": 1}\n\n{"type": "tool_use", "n": 2}\n  at b\n'
    said = program.said(program.start(tmp_path, "Go."))
    assert [event["n"] for event in said.events] == [1, 2]


def test_each_process_has_a_standard_error_of_its_own(program, home, tmp_path):
    first, second = program.start(tmp_path, "Go."), program.start(tmp_path, "Go on.")
    (home.root / "run-0.stderr").write_bytes("! ä\n".encode())
    (home.root / "run-1.stderr").write_bytes(b"Error: \xff\n")
    assert [program.said(child).stderr for child in (first, second)] == ["! ä\n", "Error: \ufffd\n"]
