from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import CrashError, DeadlineError, NotLoadedError, SetupError
from harness.expectations.base import failed, passed, unknown
from harness.invariants import Broken
from harness.report.run import Run
from harness.scenario.loader import loads
from harness.timeline import Record, Timeline

TEXT = """\
format: 1
title: Two steps
guard: infinity
script:
  main:
    - say: One.
    - say: Two.
  work:
    - say: Three.
  any_time:
    - when: {user_says: Stop.}
      say: Stopped.
steps:
  - prompt: Go.
  - prompt: Go on.
expect:
  - answer: Two.
  - blocked: {tool: bash, times: 0}
"""
FILE = Path("scenarios/two-steps.scenario.yaml")


def a_run(error=None, broken=(), statuses=("pass", "pass"), *, steps=2, entries=True):
    scenario = loads(TEXT, FILE)
    timeline = Timeline()
    if entries:
        timeline.add("guard", "loaded", "probe")
    for step in range(1, steps + 1):
        timeline.add("user", "step", "runner", data={"step": step, "kind": "prompt"})
    verdict = {
        "pass": passed("Two.", "Two.", (1,)),
        "fail": failed("One.", "Two.", (1,)),
        "unknown": unknown("Two.", "the clock is not good enough"),
    }
    verdicts = tuple(zip(scenario.checks, [verdict[status] for status in statuses], strict=False))
    return Run(scenario, Record(timeline.entries, {}, 0.0, {}), error, broken, verdicts, 1.0)


def places(run):
    found = [(f.kind, f.key, (f.span.line, f.span.column) if f.span else None) for f in run.failures()]
    assert run.passed is (not found)
    return found


def test_a_run_that_passed_has_no_failures():
    assert places(a_run()) == []
    assert a_run().report() == ""


@pytest.mark.parametrize(
    ("run", "place"),
    [
        (a_run(DeadlineError("late"), statuses=(), steps=0), ("deadline", "deadline", (14, 5))),
        (a_run(DeadlineError("late"), statuses=(), steps=1), ("deadline", "deadline", (15, 5))),
        (a_run(DeadlineError("late"), statuses=(), steps=2), ("deadline", "deadline", None)),
        (a_run(CrashError("gone"), statuses=(), steps=1), ("crash", "crash", (15, 5))),
        (a_run(SetupError("no git"), statuses=(), steps=0, entries=False), ("setup", "setup", None)),
        (a_run(NotLoadedError("refused"), statuses=(), steps=0), ("not loaded", "not loaded", (3, 1))),
        (a_run(NotLoadedError("refused"), statuses=(), steps=0, entries=False), ("not loaded", "not loaded", (3, 1))),
    ],
)
def test_an_error_stands_at_the_step_that_did_not_end(run, place):
    assert places(run) == [place]


def test_a_deadline_shows_what_was_seen_before_it():
    """A gate that is released afterwards, and all that follows, only clears the run away."""
    run = a_run(DeadlineError("late"), statuses=(), steps=0)
    timeline = Timeline()
    for kind in ("loaded", "prompt", "message.updated", "exchange.gate", "deadline", "exchange.released", "deadline"):
        timeline.add("user", kind, "runner")
    run = replace(run, record=replace(run.record, entries=timeline.entries))
    assert run.failures()[0].proof == (1, 2, 4, 5)


@pytest.mark.parametrize(
    ("reply", "place"), [(None, None), (("main", 2), (7, 7)), (("work", 1), (9, 7)), (("any_time", 1), (11, 7))]
)
def test_an_invariant_stands_at_its_reply(reply, place):
    run = a_run(broken=(Broken("unused", "reply was used 0 of 1 times", (1,), kind="script", reply=reply),))
    assert places(run) == [("script", "unused", place)]
    assert run.failures()[0].proof == (1,)


def test_a_fault_of_an_api_call_that_met_none_stands_at_its_key():
    text = TEXT.replace("script:\n", "opencode:\n  api:\n    session.abort: {status: 500}\nscript:\n")
    broken = Broken("unused_fault", "the fault of session.abort never acted", kind="script", call="session.abort")
    run = replace(a_run(broken=(broken,)), scenario=loads(text, FILE))
    assert places(run) == [("script", "unused_fault", (6, 5))]


def test_an_expectation_stands_at_its_line():
    assert places(a_run(statuses=("fail", "unknown"))) == [
        ("expectation", "answer", (17, 5)),
        ("unknown", "blocked", (18, 5)),
    ]


def test_unknown_is_no_pass():
    assert not a_run(statuses=("pass", "unknown")).passed


def test_the_order_is_error_invariants_expectations():
    run = a_run(CrashError("gone"), (Broken("egress", "x"), Broken("exit", "y", kind="crash")), ("fail", "fail"))
    assert [f.key for f in run.failures()] == ["crash", "egress", "exit", "answer", "blocked"]


def test_a_report_names_the_file_as_it_is_told():
    run = a_run(CrashError("gone", "Look at the log."), statuses=("fail",))
    report = run.report(file="shown.yaml", artifacts=".guardlab/x", reproduce="pytest shown.yaml")
    assert report.startswith("shown.yaml: crash: gone\n")
    assert "shown.yaml:17:5: expectation failed: answer\n" in report
    assert report.endswith(
        "reproduce: pytest shown.yaml\nartifacts: .guardlab/x/ (timeline.ndjson, opencode.log, exchanges/)\n"
    )
    assert {f.file for f in run.failures()} == {str(FILE)}
