"""The closing lines, and what GitHub is told."""

from __future__ import annotations

from fakemodel.source import Span
from harness.expectations.base import failed
from harness.report.ci import marks, row, write_summary
from harness.report.failure import Failure
from harness.report.summary import Outcome, clause_lines, count_line

OUTCOMES = (
    Outcome("a", ("INF-01", "INF-02")),
    Outcome("b", ("INF-02", "INF-03"), "expectation"),
    Outcome("c", (), "deadline"),
    Outcome("d", ("INF-03",), "expectation"),
)
FAILURES = (
    Failure("expectation", "scenarios/a.scenario.yaml", Span(14, 5, 14, 11), "answer", failed('"a|b"', '"100%"')),
    Failure(
        "deadline", "C:\\s,1.scenario.yaml", None, "deadline", "after 20 s still waiting for: idle\nSay --step-timeout."
    ),
)
INSIDE = {"GITHUB_ACTIONS": "true"}
VERDICT = 'actual: "a|b"%0Aexpected: "100%25"'
PROBLEM = "after 20 s still waiting for: idle%0ASay --step-timeout."


def test_counts_by_kind():
    assert count_line([*OUTCOMES[:1], Outcome("e", skipped=True)]) == "guardlab: 1 passed, 1 skipped"
    assert count_line(OUTCOMES) == "guardlab: 1 passed, 3 failed (2 expectation, 1 deadline)"
    assert count_line(OUTCOMES[:1]) == "guardlab: 1 passed"


def test_a_clause_is_proven_when_one_passes_and_none_fails():
    elsewhere = Outcome("e", ("INF-04",), skipped=True)
    assert clause_lines("INF", ("INF-01", "INF-02", "INF-03", "INF-04"), [*OUTCOMES, elsewhere]) == [
        "contract INF: 1 of 4 clauses proven",
        "  INF-02: failed in b",
        "  INF-03: failed in b, d",
        "  INF-04: no scenario proves it",
    ]


def test_annotations_mark_the_line():
    assert marks(FAILURES, INSIDE) == [
        "::error file=scenarios/a.scenario.yaml,line=14,col=5,title=expectation failed%3A answer::" + VERDICT,
        "::error file=C%3A\\s%2C1.scenario.yaml,title=deadline%3A after 20 s still waiting for%3A idle::" + PROBLEM,
    ]


def test_annotations_name_files_from_the_repository(tmp_path, monkeypatch):
    (tmp_path / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "inner")
    (told,) = marks(FAILURES[:1], {**INSIDE, "GITHUB_WORKSPACE": str(tmp_path)})
    assert told.startswith("::error file=inner/scenarios/a.scenario.yaml,line=14,")


def test_outside_of_github_nothing_is_said(tmp_path):
    assert marks(FAILURES, {}) == []
    write_summary([row(one) for one in FAILURES], ["x"], {})
    assert list(tmp_path.iterdir()) == []


def test_the_summary_is_appended(tmp_path, golden):
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    write_summary(
        [row(one) for one in FAILURES],
        [count_line(OUTCOMES), "  INF-04: no scenario proves it"],
        {"GITHUB_STEP_SUMMARY": str(path)},
    )
    golden("github-summary", path.read_text())
