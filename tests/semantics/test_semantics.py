"""The meanings that everything rests on: lying guards are judged rightly, DESIGN.md's examples come out as shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.expectations import REGISTRY
from harness.expectations.answer import Answer
from harness.expectations.requests import Requests
from harness.opencode.versions import OLDEST_VERSION

HERE = Path(__file__).parent
# Repeated in a row under load, this shows that no verdict depends on luck (see CONTRIBUTING.md).
ROUNDS = range(int(os.environ.get("GUARDLAB_ROUNDS", "1")))

LYING = {
    "nothing": {"blocked": "fail", "executed": "fail"},
    "throws-at-init": {"not loaded": "no database"},
    "leaves-at-once": {"not loaded": "OpenCode reported no error"},
    "exports-a-constant": {"not loaded": "Plugin export is not a function"},
    "blocks-after-the-side-effect": {"executed": "fail"},
    "continues-late": {"continuations": "fail"},
    "continues-late-twin": {},
    "continues-from-an-interval": {"continuations": "fail"},
    "continues-by-raw-calls": {"continuations": "fail"},
    "continues-by-the-second-api": {"continuations": "unknown"},
    "continues-unseen": {"continuations": "unknown"},
    "aborts-and-says-nothing": {"continuations": "fail", "answer": "fail"},
    "continues-although-its-abort-failed": {"continuations": "fail"},
    "continues-into-a-running-turn": {"idle_before": "fail"},
    "only-in-compressed-time": {"blocked": "fail"},
    "only-in-compressed-time-twin": {},
}
# The second API of the oldest OpenCode does find the model, sooner or later, and asks it without naming the session.
MAY_COME_WITH_THE_OLDEST = {"continues-by-the-second-api": {"unscripted"}}


def outcome(run):
    """What went wrong, by name: an expectation's status, or the error's words."""
    found = {check.expectation.kind: verdict.status for check, verdict in run.verdicts if verdict.status != "pass"}
    found |= {one.name: one.message for one in run.broken}
    if run.error:
        found[run.error.kind] = str(run.error)
    return found


@pytest.mark.parametrize("turn", ROUNDS)
@pytest.mark.parametrize("name", LYING)
def test_a_guard_that_lies_is_judged_rightly(lab, name, turn):  # noqa: ARG001 - `turn` only repeats
    run = lab.play(HERE / "lying" / f"{name}.yaml")
    found, wanted = outcome(run), LYING[name]
    luck = MAY_COME_WITH_THE_OLDEST.get(name, set()) if lab.binary.version == OLDEST_VERSION else set()
    assert found.keys() - luck == wanted.keys(), run.report()
    assert all(text in found[key] for key, text in wanted.items()), run.report()


def test_what_follows_a_stream_without_a_finish(lab):
    """The oldest OpenCode takes it for the end of the turn, later ones ask again; the scenario holds for both."""
    run = lab.play(HERE.parents[1] / "scenarios" / "faults" / "truncate-before-the-finish.scenario.yaml")
    assert run.passed, run.report()
    oldest = lab.binary.version == OLDEST_VERSION
    wanted = [Requests(times=1 if oldest else 2), Answer(text="One two three four." if oldest else "Second.")]
    assert [one.judge(run.record).status for one in wanted] == ["pass", "pass"]


def test_every_lying_guard_is_judged():
    assert {path.stem for path in (HERE / "lying").glob("*.yaml")} == LYING.keys()


@pytest.mark.parametrize("turn", ROUNDS)
@pytest.mark.parametrize("name", sorted(path.stem for path in (HERE / "meanings").glob("*.yaml")))
def test_a_meaning_holds(lab, name, turn):  # noqa: ARG001 - the same
    run = lab.play(HERE / "meanings" / f"{name}.yaml")
    assert run.passed, run.report()


def test_every_expectation_fails_for_the_right_reason_on_the_real_binary(lab):
    judged = {}
    for path in sorted((HERE / "failing").glob("*.yaml")):
        run = lab.play(path)
        assert (run.error, run.broken) == (None, ()), run.report()
        judged |= {check.expectation.kind: verdict.status for check, verdict in run.verdicts}
    assert judged == dict.fromkeys(REGISTRY, "fail")
