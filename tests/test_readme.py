"""The README's sample runs, and fails with the text that the README shows."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from harness.asked import again
from harness.lab import Lab
from harness.report.failure import render
from harness.scenario.loader import loads

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SILENT = ROOT / "tests" / "semantics" / "guards" / "nothing.js"


@pytest.fixture(scope="module")
def lab():
    with Lab() as opened:
        yield opened


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    path = folder / "scenarios" / "third-call.scenario.yaml"
    path.parent.mkdir()
    path.write_text(re.search(r"```yaml\n(.*?)```", README, re.DOTALL)[1], encoding="utf-8")
    return folder, loads(path.read_text(encoding="utf-8"), path)


def test_the_sample_passes(lab, sample):
    run = lab.play(sample[1])
    assert run.passed, run.report()


def test_the_sample_fails_as_shown(lab, sample):
    folder, scenario = sample
    shown = "scenarios/third-call.scenario.yaml"
    liar = replace(scenario, guards=tuple(replace(use, path=SILENT) for use in scenario.guards))
    command = again("pytest", shown, {"--guard": "quiet.js"})
    report = render(lab.play(liar).failures(file=shown, reproduce=command), folder)
    head, _, entries = report.partition("timeline (")
    assert head in README
    assert len(re.findall(r"^  #\d+ ", entries, re.MULTILINE)) == 5
    assert f"reproduce: {command}" in README
    assert f"reproduce: {command}" in report
