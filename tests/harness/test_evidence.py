from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from standin import a_scene, unused

from harness.evidence import Tail, collect, log_of, workspace_facts
from harness.guards import Installed


@pytest.fixture
def scene(tmp_path):
    """A scene whose workspace and shell are stand-ins too."""
    made = a_scene(tmp_path)
    root = made.props.workspace.root
    root.mkdir()

    def contents():
        return {path.relative_to(root).as_posix(): "hash" for path in root.rglob("*") if path.is_file()}

    made.props.workspace.contents = contents
    object.__setattr__(made.props, "shell", SimpleNamespace(records=list))
    return made


def test_a_tail_begins_where_the_file_ended(tmp_path):
    path = tmp_path / "log"
    early = Tail(path)
    assert early.lines() == []
    path.write_bytes(b"before\n")
    late = Tail(path)
    with path.open("ab") as file:
        file.write("ä\nhalf \xff".encode()[:-1])
    assert early.lines()[0] == "before"
    assert late.lines() == ["ä", "half \ufffd"]


def test_a_log_that_is_a_folder_has_no_lines(tmp_path):
    (tmp_path / "log").mkdir()
    assert Tail(tmp_path / "log").lines() == []


@pytest.mark.parametrize(
    ("name", "spec", "file"),
    [
        ("infinity", "file:///x", "loop-detector.log"),
        ("infinity", ["file:///x", {}], "loop-detector.log"),
        ("infinity", ["file:///x", {"logFile": "own.log"}], "own.log"),
        ("infinity", ["file:///x", {"logFile": " "}], "loop-detector.log"),
        ("infinity", ["file:///x", {"logFile": 5}], "loop-detector.log"),
        ("mine", "file:///x", None),
    ],
)
def test_where_a_guard_logs(name, spec, file):
    guard = Installed(name, None, spec, Path("e"), Path("r"), Path("s"))
    found = log_of(guard, SimpleNamespace(root=Path("home")))
    assert found == (Path("home", "config", "opencode", file) if file else None)


def test_a_text_that_vanishes_is_not_kept(scene):
    """The command of a model can remove a file between the two looks at the workspace."""
    scene.props.workspace.contents = lambda: {"gone.txt": "hash"}
    assert workspace_facts(scene) == {"files": {"gone.txt": "hash"}, "contents": {}}


def test_commands_are_placed_on_the_runs_clock(scene):
    ran = SimpleNamespace(folder="/w", command="git status", call="call_1", at=time.time() - 60)
    scene.props.shell.records = lambda: [ran]
    collect(scene)
    entry = scene.timeline.last
    assert (entry.lane, entry.kind, entry.source, entry.error) == ("opencode", "shell", "shell", 0.005)
    assert entry.data == {"folder": "/w", "command": "git status", "call": "call_1"}
    assert entry.at == pytest.approx(time.monotonic() - 60, abs=5)


def test_the_guards_logs_are_entries(scene, tmp_path):
    path = tmp_path / "guard.log"
    path.write_text("of before\n")
    scene.guard_logs = (("infinity", Tail(path)), ("mine", Tail(tmp_path / "none")))
    with path.open("a") as file:
        file.write("blocked\naborted\n")
    collect(scene)
    assert [(e.lane, e.kind, e.data) for e in scene.timeline.entries] == [
        ("guard", "log", {"guard": "infinity", "line": "blocked"}),
        ("guard", "log", {"guard": "infinity", "line": "aborted"}),
    ]


def test_errors_of_the_scenario_before_are_not_ours(scene, tmp_path):
    """OpenCode may write them late; the sessions of this one have entries."""
    scene.timeline.add("opencode", "session.created", "events", session="ses_1")
    log = ["level=ERROR a session.id=ses_1 x", "level=ERROR b session.id=ses_0 x", "level=ERROR c", "level=WARN d"]
    (tmp_path / "opencode.log").write_text("\n".join(log))
    facts = collect(scene)
    assert facts["error_lines"] == [log[0], log[2]]
    assert facts["log"] == log


def test_the_facts(scene, tmp_path):
    root = scene.props.workspace.root
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("print('ä')", encoding="utf-8")
    (root / "exact").write_text("x" * 20_000)
    (root / "big").write_text("x" * 20_001)
    (root / "binary").write_bytes(b"\xff\x00")
    (tmp_path / "opencode.log").write_text("level=INFO a\nlevel=ERROR b\n")
    scene.stage.left = [unused("work", 2, 1, 3)]
    scene.program_facts = {"stderr": "no"}
    facts = collect(scene)
    assert facts == {
        **scene.standing_facts(),
        "stderr": "no",
        "unused": [{"session": "work", "reply": 2, "used": 1, "wanted": 3}],
        "api_faults": [],
        "files": {"src/a.py": "hash", "exact": "hash", "big": "hash", "binary": "hash"},
        "contents": {"src/a.py": "print('ä')", "exact": "x" * 20_000},
        "log": ["level=INFO a", "level=ERROR b"],
        "error_lines": ["level=ERROR b"],
    }
