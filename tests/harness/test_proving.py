"""Clauses are proven by faults: what counts, what does not, and that no clause is left without a proof."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness import proving
from harness.contracts import CONTRACTS
from harness.errors import DeadlineError, SetupError
from harness.expectations.base import failed, passed
from harness.proving import Finding, Prover, main, tell
from harness.report.run import Run
from harness.timeline import Timeline
from harness.unit_tests import unit_tests

ROOT = Path(__file__).parents[2]
SOURCE = "// A limit.\nexport const limit = 3;\n"
PATCH = """{name}: The limit is {limit}.

diff --git a/src/index.ts b/src/index.ts
--- a/src/index.ts
+++ b/src/index.ts
@@ -1,2 +1,2 @@
 // A limit.
-export const limit = 3;
+export const limit = {limit};
"""
NO_OP = """NO-OP: A comment has another word.

diff --git a/src/index.ts b/src/index.ts
--- a/src/index.ts
+++ b/src/index.ts
@@ -1,2 +1,2 @@
-// A limit.
+// The limit.
 export const limit = 3;
"""
SCENARIO = """format: 1
title: A scenario
proves: [{clause}]
guard: {guard}
script: [{{say: Done.}}]
steps: [{{prompt: Go.}}]
expect: [{{answer: Done.}}]
"""


@pytest.fixture
def checkout(tmp_path):
    """A checkout whose guard has one line; `add` gives it a clause with its fault and its scenario."""
    root = tmp_path / "checkout"
    (root / "scenarios").mkdir(parents=True)
    write(root / "guard/src/index.ts", SOURCE)
    write(root / "guard/test/faults/NO-OP.patch", NO_OP)
    return root


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def add(root, clause, *, limit=99, scenario=None, guard="infinity"):
    write(root / f"guard/test/faults/{clause}.patch", PATCH.format(name=clause, limit=limit))
    write(root / f"scenarios/{scenario or clause.lower()}.scenario.yaml", SCENARIO.format(clause=clause, guard=guard))


def outcome(scenario, *, green, error=None):
    verdict = passed("Done.", "Done.") if green else failed("Nothing.", "Done.")
    return Run(scenario, Timeline().freeze({}, {}), error, (), ((scenario.checks[0], verdict),), 0.0)


def source_of(scenario):
    return scenario.guards[0].path.read_text(encoding="utf-8")


def honest(scenario):
    """Green as long as the limit is the right one."""
    return outcome(scenario, green="limit = 3;" in source_of(scenario))


def judged(root, tmp_path, clause, play=honest):
    return Prover(root, play, tmp_path / "work").judge(clause)


def test_a_scenario_that_the_fault_turns_red_proves_its_clause(checkout, tmp_path):
    add(checkout, "INF-01")
    prover = Prover(checkout, honest, tmp_path / "work")
    assert prover.judge("INF-01") == Finding("INF-01", "scenario", "scenarios/inf-01.scenario.yaml: answer")
    assert prover.innocent == {"scenarios/inf-01.scenario.yaml": True}
    assert (checkout / "guard/src/index.ts").read_text() == SOURCE


def test_a_scenario_that_stays_green_proves_nothing(checkout, tmp_path):
    add(checkout, "INF-01")
    finding = judged(checkout, tmp_path, "INF-01", lambda scenario: outcome(scenario, green=True))
    assert finding == Finding("INF-01", None, "with its fault 1 green")


def test_a_scenario_that_is_red_anyway_proves_nothing(checkout, tmp_path):
    add(checkout, "INF-01")
    finding = judged(checkout, tmp_path, "INF-01", lambda scenario: outcome(scenario, green=False))
    assert finding == Finding("INF-01", None, "with its fault 1 red without the fault too")


def test_a_run_that_breaks_off_proves_nothing(checkout, tmp_path):
    add(checkout, "INF-01")

    def late(scenario):
        return outcome(scenario, green=False, error=DeadlineError("It never came."))

    assert judged(checkout, tmp_path, "INF-01", late).why == "with its fault 1 ended by deadline"


def test_the_next_scenario_of_the_clause_is_tried(checkout, tmp_path):
    add(checkout, "INF-01")
    add(checkout, "INF-01", scenario="aaa-of-another-clause")
    played = []

    def play(scenario):
        played.append(scenario.path.name)
        return honest(scenario) if "aaa" in scenario.path.name else outcome(scenario, green=True)

    assert judged(checkout, tmp_path, "INF-01", play).by == "scenario"
    # Its own scenario comes first; the last one is played again with a changed comment.
    assert played == ["inf-01.scenario.yaml", *["aaa-of-another-clause.scenario.yaml"] * 2]


def test_a_wrapper_reaches_the_faulty_guard(checkout, tmp_path):
    add(checkout, "INF-01", guard="{path: wrapper.ts}")
    write(checkout / "scenarios/wrapper.ts", 'export { limit as default } from "../guard/src/index.ts";\n')

    def play(scenario):
        wrapper = scenario.guards[0].path
        assert wrapper.name == "wrapper.ts"
        text = (wrapper.parent / "../guard/src/index.ts").read_text(encoding="utf-8")
        return outcome(scenario, green="limit = 3;" in text)

    assert judged(checkout, tmp_path, "INF-01", play).by == "scenario"


def test_a_patch_that_no_longer_applies_is_told(checkout, tmp_path):
    add(checkout, "INF-01")
    write(checkout / "guard/src/index.ts", "export const most = 3;\n")
    finding = judged(checkout, tmp_path, "INF-01")
    assert finding == Finding(
        "INF-01",
        None,
        "guard/test/faults/INF-01.patch no longer applies: error: patch failed: src/index.ts:1",
    )


def test_a_scenario_without_a_fault_proves_nothing(checkout, tmp_path):
    add(checkout, "INF-01")
    (checkout / "guard/test/faults/INF-01.patch").unlink()
    assert judged(checkout, tmp_path, "INF-01").why == "guard/test/faults/INF-01.patch is missing"


def test_a_clause_that_nothing_names(checkout, tmp_path):
    assert judged(checkout, tmp_path, "INF-02").why == "no scenario and no unit test names it"


def test_a_unit_test_without_a_fault_proves_nothing(checkout, tmp_path):
    write(checkout / "tests/guard/test_it.py", '"""[INF-02]"""\n')
    why = "guard/test/faults/INF-02.patch is missing"
    assert judged(checkout, tmp_path, "INF-02") == Finding("INF-02", None, why)


HOOK = "def pytest_itemcollected(item): item.extra_keyword_matches.add(item.obj.__doc__)\n"
TEST = """from pathlib import Path

def test_it():
    "[INF-02]"
    assert "limit = %s;" in (Path(__file__).parents[2] / "guard/src/index.ts").read_text()
"""


@pytest.mark.parametrize(
    ("limit", "expected", "by", "why"),
    [
        (99, 3, "unit test", ""),
        ("3; // the same", 3, None, ": green with its fault"),
        (99, 4, None, ": red without the fault too, or nothing that runs"),
    ],
)
def test_a_test_of_the_package_must_turn_red(checkout, tmp_path, limit, expected, by, why):
    """As tests/guard does: pytest runs it in a copy, and its conftest.py lets `-k` choose by clause."""
    for name, text in {"conftest.py": HOOK, "test_it.py": TEST % expected}.items():
        write(checkout / "tests/guard" / name, text)
    write(checkout / "guard/test/faults/INF-02.patch", PATCH.format(name="INF-02", limit=limit))
    assert judged(checkout, tmp_path, "INF-02") == Finding("INF-02", by, f"tests/guard/test_it.py{why}")


@pytest.fixture
def bun(checkout):
    """A stand-in that finds one test, of clause INF-02, and passes it as long as the limit is 3."""
    if os.name == "nt":
        pytest.skip("it is a shell script")
    program = checkout / "guard/node_modules/.bin/bun"
    wanted = r"test --test-name-pattern \\[INF-02\\]"
    write(program, f'#!/bin/sh\n[ "$*" = "{wanted}" ] && grep -q "limit = 3;" src/index.ts\n')
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("clause", "limit", "finding"),
    [
        ("INF-02", 99, Finding("INF-02", "unit test", "guard/test/it.test.ts")),
        ("INF-02", "3; // the same", Finding("INF-02", None, "guard/test/it.test.ts: green with its fault")),
        (
            "INF-03",
            99,
            Finding("INF-03", None, "guard/test/it.test.ts: red without the fault too, or nothing that runs"),
        ),
    ],
)
@pytest.mark.usefixtures("bun")
def test_a_unit_test_of_the_guard_must_turn_red(checkout, tmp_path, clause, limit, finding):
    write(checkout / "guard/test/it.test.ts", f'test("[{clause}] it", () => {{}});\n')
    write(checkout / f"guard/test/faults/{clause}.patch", PATCH.format(name=clause, limit=limit))
    assert judged(checkout, tmp_path, clause) == finding


def test_unit_tests_want_bun(checkout, tmp_path):
    write(checkout / "guard/test/it.test.ts", 'test("[INF-02] it", () => {});\n')
    write(checkout / "guard/test/faults/INF-02.patch", PATCH.format(name="INF-02", limit=99))
    with pytest.raises(SetupError, match="holds no bun"):
        judged(checkout, tmp_path, "INF-02")


def test_a_comment_that_cannot_be_changed_is_no_finding(checkout, tmp_path):
    add(checkout, "INF-01")
    write(checkout / "guard/test/faults/NO-OP.patch", NO_OP.replace("// A limit.", "// No limit."))
    with pytest.raises(SetupError, match="patch failed"):
        judged(checkout, tmp_path, "INF-01")


def test_what_is_proven_is_counted_by_its_proof():
    findings = [Finding("INF-01", "scenario", ""), Finding("INF-02", "unit test", ""), Finding("INF-03", None, "")]
    assert tell(findings) == ["contract INF: 2 of 3 clauses proven (1 by scenario, 1 by unit test)"]
    assert tell([]) == []


def test_a_folder_that_is_no_checkout_is_refused(tmp_path, capsys):
    assert main(["--root", str(tmp_path)]) == 2
    assert "Clauses are proven in a checkout of guardlab." in capsys.readouterr().err


def test_an_unknown_clause_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["INF-99"])
    assert "no clause is called INF-99" in capsys.readouterr().err


def test_every_clause_has_something_that_can_prove_it():
    clauses = {clause for contract in CONTRACTS.values() for clause in contract}
    assert clauses - proving._scenarios_by_clause(ROOT).keys() - unit_tests(ROOT).keys() == set()
    assert {path.stem for path in (ROOT / "guard/test/faults").glob("*.patch")} == {*clauses, "NO-OP"}


def test_a_clause_is_proven_in_the_real_opencode(capsys):
    assert main(["INF-14", "--root", str(ROOT)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("INF-14  proven by scenario: scenarios/infinity/inf-14-threshold-")
    assert said[1:] == [
        "NO-OP   1 of 1 scenarios stay green",
        "contract INF: 1 of 1 clauses proven (1 by scenario, 0 by unit test)",
    ]
