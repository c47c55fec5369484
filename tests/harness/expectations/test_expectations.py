"""Every expectation: what passes, what fails and how the failure reads, and that a saved record says the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cases_calls
import cases_recovery
import cases_rest
import cases_texts
import pytest
from judging import Case, read, report

from harness.expectations import REGISTRY
from harness.timeline import Record

OUTPUT = Path(__file__).parents[2] / "output"
CASES: tuple[Case, ...] = (
    *cases_calls.CASES,
    *cases_texts.CASES,
    *cases_recovery.CASES,
    *cases_rest.CASES,
)


# What a workspace and a program left behind is no entry of the timeline.
PASSES = [case for case in CASES if case.status == "pass" and case.kind not in ("files", "exit", "stderr")]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.name}")
def test_case(case, tmp_path, golden):
    record = case.story().record()
    expectation = read(case.line)
    verdict = expectation.judge(record)
    assert verdict.status == case.status, verdict
    record.save(tmp_path / "timeline.ndjson")
    assert expectation.judge(Record.load(tmp_path / "timeline.ndjson")) == verdict
    assert set(verdict.evidence) <= {entry.seq for entry in record.entries}
    if case.status != "pass":
        golden(f"expectation-{case.name}", report(case.line, verdict, record, tmp_path))


@pytest.mark.parametrize("case", PASSES, ids=lambda case: f"{case.kind}: {case.name}")
def test_a_presence_has_its_evidence_and_an_absence_is_claimed_as_such(case):
    record = case.story().record()
    expectation = read(case.line)
    proof = expectation.judge(record).evidence
    if expectation.judge(replace(record, entries=())).status == "pass":
        assert expectation.claims_absence()
    else:
        assert proof
        robbed = replace(record, entries=tuple(entry for entry in record.entries if entry.seq not in proof))
        assert expectation.judge(robbed).status != "pass"


@pytest.mark.parametrize("kind", REGISTRY)
def test_every_expectation_has_a_golden_failure_and_a_pass_twin(kind):
    mine = [case for case in CASES if case.kind == kind]
    assert any(case.status == "pass" for case in mine)
    assert any(case.status == "fail" and case.name.split("-")[0] == kind for case in mine)


def test_every_golden_failure_belongs_to_a_case():
    names = {f"expectation-{case.name}.txt" for case in CASES if case.status != "pass"}
    assert {path.name for path in OUTPUT.glob("expectation-*.txt")} == names
