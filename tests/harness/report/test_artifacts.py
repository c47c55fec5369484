"""What a run leaves behind, and where."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest

from harness.errors import DeadlineError
from harness.expectations.base import failed
from harness.report.artifacts import folder_of, keep
from harness.report.run import Run
from harness.scenario.loader import loads
from harness.settings import Settings
from harness.timeline import Entry, Record

if TYPE_CHECKING:
    from pathlib import Path

TEXT = """\
format: 1
title: A reset
script: [{say: all done}]
steps: [{prompt: Go.}]
expect: [{answer: all done}]
"""
PROMPT = Entry(1, 100.0, "user", "prompt", "runner", 1, "ses_1", {"text": "Go."})
RECEIVED = Entry(2, 100.5, "model", "exchange.received", "fake", 1, "ses_1", {"number": 1, "reply": 1})
CLOSED = Entry(3, 100.75, "model", "exchange.closed", "fake", 2, "ses_1", {"number": 1, "ended_by": "script"})


def a_run(root: Path, status: str = "fail", *, text: str = "all do") -> Run:
    scenario = loads(TEXT, root / "scenarios/faults/reset.scenario.yaml")
    record = Record((PROMPT, RECEIVED, CLOSED), {"ses_1": "main"}, 100.0, {"log": ["level=INFO a", "level=WARN b"]})
    verdicts = tuple((check, failed(text, "all done", (3,))) for check in scenario.checks) if status == "fail" else ()
    return Run(scenario, record, None, (), verdicts, 1.25)


@pytest.fixture
def settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Settings(runs_dir=tmp_path / ".guardlab")


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_failed_run_is_kept(settings, tmp_path):
    assert keep(a_run(tmp_path), settings, "scenarios/faults/reset.scenario.yaml") == ".guardlab/faults/reset"
    folder = tmp_path / ".guardlab/faults/reset"
    assert files(folder) == ["exchanges/001.json", "opencode.log", "timeline.ndjson", "verdicts.json"]
    assert Record.load(folder / "timeline.ndjson") == a_run(tmp_path).record
    assert (folder / "opencode.log").read_text() == "level=INFO a\nlevel=WARN b\n"
    assert json.loads((folder / "exchanges/001.json").read_text()) == [
        {"entry": 2, "at": 0.5, "kind": "exchange.received", "number": 1, "reply": 1},
        {"entry": 3, "at": 0.75, "kind": "exchange.closed", "number": 1, "ended_by": "script"},
    ]
    assert json.loads((folder / "verdicts.json").read_text()) == {
        "scenario": "scenarios/faults/reset.scenario.yaml",
        "passed": False,
        "seconds": 1.25,
        "error": None,
        "invariants": [],
        "expectations": [
            {
                "expectation": "answer",
                "line": 5,
                "status": "fail",
                "actual": "all do",
                "expected": "all done",
                "where": "",
                "evidence": [3],
            }
        ],
    }


def test_what_ended_the_run_early_is_told(settings, tmp_path):
    run = a_run(tmp_path, "pass")
    keep(Run(run.scenario, run.record, DeadlineError("late", "wait longer"), (), (), 0.0), settings, "x")
    told = json.loads((tmp_path / ".guardlab/faults/reset/verdicts.json").read_text())
    assert told["error"] == {"kind": "deadline", "text": "late\nwait longer"}


def test_a_run_that_passes_takes_the_old_files_away(settings, tmp_path):
    keep(a_run(tmp_path), settings, "x")
    assert keep(a_run(tmp_path, "pass"), settings, "x") is None
    assert files(tmp_path / ".guardlab") in ([], [".lock"])


@pytest.mark.parametrize(("when", "status", "kept"), [("always", "pass", True), ("never", "fail", False)])
def test_when_runs_are_kept(settings, tmp_path, when, status, kept):
    asked = Settings(runs_dir=settings.runs_dir, keep_runs=when)
    assert (keep(a_run(tmp_path, status), asked, "x") is not None) is kept
    assert (settings.runs_dir / "faults/reset").exists() is kept


def test_a_new_run_replaces_all_of_the_old(settings, tmp_path):
    keep(a_run(tmp_path), settings, "x")
    (settings.runs_dir / "faults/reset/exchanges/099.json").write_text("old")
    keep(a_run(tmp_path, text="new"), settings, "x")
    assert files(settings.runs_dir / "faults/reset")[0:2] == ["exchanges/001.json", "opencode.log"]
    assert "new" in (settings.runs_dir / "faults/reset/verdicts.json").read_text()


def test_workers_that_keep_the_same_item_at_once_do_not_collide(settings, tmp_path):
    errors: list[Exception] = []

    def work() -> None:
        try:
            for _ in range(5):
                keep(a_run(tmp_path), settings, "x")
        except Exception as error:  # noqa: BLE001 - brought home below
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(files(settings.runs_dir / "faults/reset")) == 4
    assert [path.name for path in settings.runs_dir.iterdir() if path.name.startswith(".new-")] == []


def test_no_two_items_share_a_folder_and_none_lies_in_anothers(tmp_path):
    runs = tmp_path / ".guardlab"
    (tmp_path / "scenarios/incidents/l06").mkdir(parents=True)
    given = [
        "scenarios/incidents/l06.scenario.yaml",
        "scenarios/incidents/l06/read.scenario.yaml",
        "scenarios/incidents/l10.scenario.yaml",
        "incidents/l06.scenario.yaml",
        "top.scenario.yaml",
        "../other/l10.scenario.yaml",
    ]
    folders = [folder_of(runs, tmp_path / path) for path in given]
    shown = [folder.relative_to(runs).as_posix() for folder in folders]
    assert shown[:3] == ["incidents/l06.scenario", "incidents/l06/read", "incidents/l10"]
    assert shown[3:5] == ["incidents/l06.scenario.yaml", "top.scenario.yaml"]
    assert len(set(folders)) == len(given)
    assert not any(one in other.parents for one in folders for other in folders)
