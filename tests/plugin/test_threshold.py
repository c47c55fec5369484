"""A guard that blocks far too late: the scenarios that need the block fail, these alone, and say why."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from normalising import normal_entries

from harness.lab import Lab
from harness.report.artifacts import keep
from harness.scenario.loader import load
from harness.settings import Settings

ROOT = Path(__file__).parents[2]
THRESHOLD = 99
CLAUSES = {f"INF-{number:02}" for number in (*range(1, 12), 14)}
STAY_GREEN = {"INF-01", "INF-03", "INF-08", "INF-10"}
WHOLE_REPORTS = {  # all of their five entries are the proof: which others come beside a proof is a matter of time
    "inf-05-block-holds-against-a-stubborn-model",
    "inf-07-command-counts-byte-for-byte",
}
FAILED = r"{}:\d+:\d+: expectation failed: blocked\n.*\n *\d+ \|  .*blocked: .*\n.* actual: .*\n.* expected: .*\n"
FIVE = r"timeline \(5 of \d+ entries, t = 0 at the first prompt\)\n(  #\d+ .*\n){5}(?!  #)"


def chosen():
    """Choose by the text: what is collected in every run of pytest must not cost the reading of every scenario."""
    for path in sorted((ROOT / "scenarios").glob("in*/*.scenario.yaml")):
        text = path.read_text()
        proven = re.search(r"^proves: \[(.*)\]", text, re.MULTILINE)
        about = proven is not None and not CLAUSES.isdisjoint(proven[1].split(", "))
        guarded = re.search(r"^guard: \{?infinity", text, re.MULTILINE)
        if guarded and (about or path.parent.name == "incidents"):
            yield path.relative_to(ROOT).as_posix()


SCENARIOS = list(chosen())


def needs_the_block(scenario):
    blocked = [check.expectation for check in scenario.checks if check.expectation.kind == "blocked"]
    return any(one.nth or one.times is None or 0 not in one.times for one in blocked)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with Lab(Settings.from_environment(os.environ, runs_dir=tmp_path_factory.mktemp("runs"))) as opened:
        yield opened


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_needs_the_block_fails_and_nothing_else(lab, golden, monkeypatch, name):
    """A threshold of its own (INF-14) is overruled too: such a scenario needs the block like the others."""
    monkeypatch.chdir(ROOT)
    scenario = load(Path(name), shown_as=name)
    late = tuple(replace(use, options={**(use.options or {}), "threshold": THRESHOLD}) for use in scenario.guards)
    run = lab.play(replace(scenario, guards=late))
    if not needs_the_block(scenario):
        assert run.passed, run.report()
        return
    kept = keep(run, lab.settings, name)
    report = run.report(artifacts=kept, reproduce=f"pytest {name} --keep-runs=always")
    assert not run.passed
    assert (run.error, run.broken) == (None, ()), report
    assert re.search(FAILED.format(re.escape(name)), report), report
    assert len(re.findall(FIVE, report)) == len(run.failures()), report
    assert report.endswith(
        f"reproduce: pytest {name} --keep-runs=always\nartifacts: {kept}/ (timeline.ndjson, opencode.log, exchanges/)\n"
    )
    assert (Path(kept) / "timeline.ndjson").is_file()
    if scenario.name in WHOLE_REPORTS:
        golden(f"threshold-99-{scenario.name}", normal_entries(report.replace(kept, "RUN")))


def test_each_clause_that_stays_green_has_a_scenario_that_does_not_need_the_block():
    without = [scenario for scenario in map(load, (ROOT / name for name in SCENARIOS)) if not needs_the_block(scenario)]
    assert {clause for scenario in without for clause in scenario.head.proves} >= STAY_GREEN
