"""The text of a failed run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from exchanges import closed

from fakemodel.source import Span
from harness.expectations.base import failed, unknown
from harness.report.failure import Failure, headline, render
from harness.timeline import Entry, Record

FILE = "scenarios/faults/reset.scenario.yaml"
SOURCE = """\
format: 1
title: A reset in the middle
script:
  - say: all done
    fault: reset

# a comment stands here
steps:
  - prompt: Go.
allow:
  - session_error
# and here
expect:
  - answer: all done
"""


def entry(seq, at, lane, happened, **data):
    source = {"model": "fake", "user": "runner"}.get(lane, "events")
    return Entry(seq, 100 + at, lane, happened, source, seq, "ses_1", data)


def entries():
    yield entry(1, 0.0, "user", "prompt", step=1, text="Go.")
    for seq in range(2, 17):
        yield entry(seq, 0.01 * seq, "opencode", "session.updated")
    reset = closed(chunks_sent=4, chunks_scripted=9, ended_by="fault", faults=("reset",))
    yield entry(17, 0.41, "model", "exchange.closed", **reset)
    yield entry(18, 0.42, "opencode", "session.updated")
    yield entry(19, 0.43, "opencode", "session.status", status={"type": "retry", "attempt": 1})
    for seq in range(20, 23):
        yield entry(seq, 0.05 * seq, "opencode", "message.updated")
    why = "nearest reply: 2, differs in the last role: wanted tool, got user"
    yield entry(23, 1.44, "model", "exchange.unscripted", number=2, reason=why)
    for seq in range(24, 42):
        yield entry(seq, 1.4 + 0.01 * seq, "opencode", "session.updated")


@pytest.fixture
def record():
    return Record(tuple(entries()), {"ses_1": "main"}, 100.0, {"guards": []})


@pytest.fixture
def root(tmp_path):
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text(SOURCE)
    return tmp_path


@pytest.fixture
def failure(record):
    return Failure(
        kind="expectation",
        file=FILE,
        span=Span(14, 5, 14, 11),
        key="answer",
        problem=failed('"all do"', '"all done"', (17, 19, 23), "session main, message 2, part 1"),
        record=record,
        artifacts=".guardlab/faults/reset",
        reproduce=f"pytest {FILE} --keep-runs=always",
    )


def test_an_expectation_that_failed(failure, root, golden):
    golden("failure-expectation", render([failure], root))


def test_the_timeline_shows_the_proof_first_and_fills_up_with_what_tells(failure, root):
    lines = render([failure], root).splitlines()
    assert lines[5] == "timeline (4 of 41 entries, t = 0 at the first prompt)"
    assert [line.split()[0] for line in lines if line.startswith("  #")] == ["#1", "#17", "#19", "#23"]


def test_several_failures_are_one_report_with_one_way_to_see_it_again(failure, root, golden):
    script = replace(
        failure,
        kind="script",
        span=Span(4, 5, 5, 17),
        key="unused",
        problem="reply 1 of session main was used 1 time, wanted 2\nThe model was not asked again.",
        evidence=(17,),
    )
    golden("failure-several", render([failure, script], root))


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("setup", "no OpenCode binary was found\nSay --opencode-binary PATH, or set OPENCODE_TEST_BINARY."),
        ("not loaded", "infinity: Failed to load plugin file:///g/index.ts: Cannot find module './core'"),
        ("script", "reply 2 of session main was never used"),
        ("invariant", "a request tried to leave the machine: example.org:443"),
        ("deadline", "after 20 s still waiting for: session main is busy"),
        ("crash", "OpenCode ended with -9, which nobody asked for"),
    ],
)
def test_a_problem_in_words(kind, problem, golden):
    name = f"failure-{kind.replace(' ', '-')}"
    golden(name, render([Failure(kind=kind, file=FILE, span=None, key=kind, problem=problem)]))


def test_an_unknown_verdict_says_so(failure):
    assert (
        headline(replace(failure, kind="unknown", problem=unknown("a", "b"))) == f"{FILE}:14:5: unknown verdict: answer"
    )


def test_a_place_of_several_lines_is_marked_to_the_end_of_its_first(failure, root):
    step = replace(failure, kind="deadline", span=Span(9, 5, 11, 3), key="deadline", problem="late")
    assert "9 |    - prompt: Go.\n  |      ^^^^^^^^^^^" in render([step], root)


def test_long_texts_keep_to_the_width_of_a_terminal(failure, root, record):
    told = replace(record, entries=(entry(1, 0.0, "user", "prompt", text="word\n" * 60),))
    long = replace(failure, record=told, problem=failed("a" * 80, "b\nc", (), "session main, message 12, part 3456789"))
    lines = render([long], root).splitlines()
    assert lines[3:6] == [
        "   |      ^^^^^^ actual:   " + "a" * 80,
        "   |                       (session main, message 12, part 3456789)",
        "   |             expected: b\\nc",
    ]
    assert lines[7].endswith(" word wor...")
    assert len(lines[7]) == 120


def test_without_the_file_the_report_still_tells_everything(failure, tmp_path):
    lines = render([replace(failure, record=None)], tmp_path).splitlines()
    assert lines[1:3] == ['  actual:   "all do"     (session main, message 2, part 1)', '  expected: "all done"']


def test_negative_times_and_wide_numbers_stand_in_columns(failure, root, record):
    early = entry(1, -0.25, "opencode", "session.status", status={"type": "busy"})
    late = entry(120, 12.5, "guard", "log", line="x")
    told = replace(record, entries=(early, late))
    lines = render([replace(failure, record=told)], root).splitlines()
    assert lines[6:8] == ["  #1    -0.25s opencode session.status busy", "  #120 +12.50s guard    log: x"]
