"""What a user of the scenarios chooses: the binary, the build of the guard, and what stays of a run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import SetupError
from harness.opencode.binary import resolve
from harness.report.artifacts import keep
from harness.settings import Settings

HERE = Path(__file__).parent
THIRD_CALL = HERE.parents[1] / "scenarios" / "infinity" / "third-call.scenario.yaml"


def test_a_variable_chooses_the_binary(lab, tmp_path, monkeypatch):
    """[INF-64]"""
    monkeypatch.delenv("GUARDLAB_OPENCODE_VERSION", raising=False)  # the reason would say that a path wins over it
    binary = resolve(Settings.from_environment({**os.environ, "OPENCODE_TEST_BINARY": str(lab.binary.path)}))
    assert (binary.path, binary.why) == (lab.binary.path, "given by OPENCODE_TEST_BINARY")
    with pytest.raises(SetupError, match="OPENCODE_TEST_BINARY"):
        resolve(Settings.from_environment({**os.environ, "OPENCODE_TEST_BINARY": str(tmp_path / "absent")}))


def test_a_variable_chooses_the_build(lab, package, monkeypatch):
    """[INF-64]"""
    monkeypatch.setenv("LOOP_GUARD_ENTRY", str(package.folder / "dist" / "index.js"))
    run = lab.play(THIRD_CALL)
    assert run.passed, run.report()
    assert run.record.facts["guards"][0]["path"] == str(package.folder / "dist" / "index.js")

    monkeypatch.setenv("LOOP_GUARD_ENTRY", str(package.folder / "dist" / "absent.js"))
    assert "LOOP_GUARD_ENTRY" in lab.play(THIRD_CALL).report()


def test_a_wrapper_file_gets_the_build_too(lab, successor, monkeypatch):
    """Names no clause: which guard is ours is asked of this checkout, so that a prover's copy can't show it."""
    monkeypatch.setenv("LOOP_GUARD_ENTRY", str(successor.folder))
    run = lab.play(THIRD_CALL.with_name("inf-60-options-of-a-wrapper.scenario.yaml"))
    assert run.passed, run.report()
    told = [result["text"] for entry in run.record.of("exchange.received") for result in entry.data["results"]]
    assert any("Blocked by the next version" in text for text in told)


@pytest.mark.parametrize(
    ("scenario", "keep_runs", "kept"),
    [("failing.yaml", "on-failure", True), ("unguarded.yaml", "on-failure", False), ("unguarded.yaml", "always", True)],
)
def test_the_files_of_a_run_stay_after_a_failure_and_on_demand(lab, tmp_path, scenario, keep_runs, kept):
    """[INF-64]"""
    settings = replace(lab.settings, runs_dir=tmp_path / ".guardlab", keep_runs=keep_runs)
    run = lab.play(HERE / scenario)
    place = keep(run, settings, scenario)
    assert (place is not None) == kept
    names = {path.name for path in (tmp_path / ".guardlab").rglob("*")}
    assert ({"timeline.ndjson", "opencode.log"} <= names) == kept
