"""The scenario files of the project: one that passes where nothing happens names its twin, in which it happens.

The twin stands in a comment: `# The twin that loops: inf-28-abort-closes-the-stream.`, or `# The twins ...: a, b.`
"""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest

from harness.scenario.loader import SUFFIX, load
from harness.timeline import Record

SCENARIOS = Path(__file__).parent.parent / "scenarios"
FILES = sorted(SCENARIOS.rglob(f"*{SUFFIX}"))
TWINS = re.compile(r"^# The twins? .*: (.+)\.$", re.MULTILINE)


def of_nothing(scenario):
    """The record of a run in which its guards were loaded and nobody did or said anything."""
    guards = [{"name": guard.name, "marker": guard.marker or "[MARKER]", "log": True} for guard in scenario.guards]
    written = {**scenario.head.workspace.files, **scenario.head.workspace.changes}
    files = {name: sha256(text.encode()).hexdigest() for name, text in written.items()}
    return Record((), {}, 0.0, {"guards": guards, "base": files, "files": files, "contents": written})


def kinds(path):
    """The kinds of checks that pass where nothing happens, and those of which one does not."""
    scenario = load(path)
    record = of_nothing(scenario)
    verdicts = [(check.expectation.kind, check.expectation.judge(record).status) for check in scenario.checks]
    shown = {kind for kind, status in verdicts if status != "pass"}
    return {kind for kind, status in verdicts if status == "pass"} - shown, shown


def twins(path):
    named = [name for found in TWINS.findall(path.read_text(encoding="utf-8")) for name in found.split(", ")]
    return [(name, [base / f"{name}{SUFFIX}" for base in (path.parent, SCENARIOS, SCENARIOS.parent)]) for name in named]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SCENARIOS).as_posix())
def test_what_shows_nothing_of_its_kind_names_a_twin(path):
    lone, _ = kinds(path)
    there = {name: next((place for place in places if place.is_file()), None) for name, places in twins(path)}
    assert [name for name, place in there.items() if place is None] == [], "no file has this name"
    assert not lone or there, f"{lone} would pass if nothing happened: add '# The twin in which it does: NAME.'"
    assert [name for name, place in there.items() if place and not kinds(place)[1]] == [], "this twin shows nothing"


@pytest.mark.parametrize(
    ("check", "lone"),
    [
        ("blocked: {times: 0}", {"blocked"}),
        ("blocked: {nth: 3}", set()),
        ("requests: ..2", {"requests"}),
        ("requests: 1", set()),
        ("continuations: 0", {"continuations"}),
        ("continuations: 1", set()),
        ("files: {a.txt: unchanged}", {"files"}),
        ("files: {b.txt: absent}", {"files"}),
        ("files: {b.txt: absent, a.txt: changed}", set()),
        ("log: {contains: a, times: 0}", {"log"}),
        ("event: {type: a, times: 0}", {"event"}),
        ("answer: a", set()),
    ],
)
def test_only_a_check_that_passes_on_nothing_needs_one(tmp_path, check, lone):
    path = tmp_path / f"a{SUFFIX}"
    keys = "guard: infinity\nworkspace: {files: {a.txt: a}}\nscript: [{say: a}]\nsteps: [{prompt: Go.}]\n"
    path.write_text(f"format: 1\ntitle: t\n{keys}expect:\n  - {check}\n", encoding="utf-8")
    assert kinds(path)[0] == lone
