"""What a session says at its end, to its user, to junit and to GitHub, with workers and without."""

from __future__ import annotations

import pytest
from projects import ANSWERS_VERSION, GREETING

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
UNKNOWN = "  - blocked: {times: 1}\nguard: {path: quiet.js, name: quiet}\n"  # nobody knows by what marker it blocks
QUIET = "export const Quiet = async () => ({})\n"
# The harness itself breaks in the first scenario.
BREAKS = """\
from harness.lab import Lab

def play(self, scenario, **given):
    raise ValueError(f"a mistake of ours in {scenario.name}")

Lab.play = play
"""


@pytest.fixture
def silent(project, monkeypatch):
    """A project whose OpenCode ends at once: a run that fails within a second."""
    monkeypatch.setenv("OPENCODE_TEST_BINARY", project.program("opencode", ANSWERS_VERSION + "exit 7\n"))
    project.scenario("greeting", GREETING)
    project.scenario("farewell", GREETING)
    return project


@WORKERS
def test_what_cannot_be_told_is_an_error_and_what_failed_besides_is_a_failure(project, workers):
    (project.path / "quiet.js").write_text(QUIET)
    project.scenario("unclear", GREETING + UNKNOWN)
    project.scenario("wrong", GREETING.replace("answer: Hello.", "answer: Bye.") + UNKNOWN)
    run = project.run("--junitxml=junit.xml", "-rA", *workers)
    assert (run.code, project.left()) == (1, [])
    assert "ERROR unclear.scenario.yaml::unclear - unclear.scenario.yaml:9:5: unknown verdict: blocked" in run.text
    assert "FAILED wrong.scenario.yaml::wrong - wrong.scenario.yaml:8:5: expectation failed: answer" in run.text
    assert "no marker is known for quiet: say" in run.text
    assert "1 failed, 1 error" in run.text
    assert "guardlab: 0 passed, 2 failed (1 expectation, 1 unknown)" in run.text
    assert project.junit_ends() == {"unclear": ["error"], "wrong": ["failure"]}
    assert {name: told["guardlab_kind"] for name, (_, told) in project.junit().items()} == {
        "unclear": "unknown",
        "wrong": "expectation",
    }


@WORKERS
def test_github_gets_one_page_and_marks_that_attach(silent, monkeypatch, workers):
    page = silent.path / "summary.md"
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(silent.path.parent))
    silent.scenario("typo", GREETING.replace("prompt", "promt"))
    run = silent.run("--junitxml=junit.xml", "--continue-on-collection-errors", *workers)
    assert run.code == 1
    said = page.read_text()
    assert said.count("### guardlab") == 1
    assert said.startswith("### guardlab\n\n- guardlab: 0 passed, 3 failed (2 crash, 1 setup)\n")
    for name in ("farewell", "greeting", "typo"):
        assert said.count(f"| {name}.scenario.yaml |") == 1
        assert run.text.count(f"::error file={silent.path.name}/{name}.scenario.yaml,") == 1
    assert {key for _, told in silent.junit().values() for key in told} == {
        "guardlab_item", "guardlab_proves", "guardlab_kind"
    }  # fmt: skip


@WORKERS
def test_a_harness_that_breaks_is_a_crash(project, workers):
    (project.path / "conftest.py").write_text(BREAKS)
    project.scenario("greeting", "proves: [INF-02]\n" + GREETING)
    run = project.run("--junitxml=junit.xml", *workers)
    assert (run.code, project.left()) == (1, [])
    assert "ValueError: a mistake of ours in greeting" in run.text
    assert "guardlab: 0 passed, 1 failed (1 crash)" in run.text
    assert "failed in greeting.scenario.yaml" in run.text
    assert project.junit()["greeting"][1]["guardlab_kind"] == "crash"


def test_a_scenario_for_another_system_is_skipped_and_counted_so(silent):
    silent.scenario("elsewhere", "systems: [windows]\n" + GREETING)
    run = silent.run("elsewhere.scenario.yaml", "-rs")
    assert run.code == 0
    assert "this scenario is for windows; this is " in run.text
    assert "guardlab: 0 passed, 1 skipped" in run.text
