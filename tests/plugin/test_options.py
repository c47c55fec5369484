"""What a user asks pytest for: which scenarios run, with which OpenCode and guard, and what is kept of them."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from projects import ANSWERS_VERSION, GREETING

LOOP = """\
proves: [INF-02, INF-21]
tags: [incident]
source: {row: L06}
guard: infinity
script:
  - call: {bash: {command: git status --short}}
    times: 3
  - say: Nothing has changed.
steps:
  - prompt: Check the repository.
expect:
  - blocked: {tool: bash, nth: 3, by: infinity}
"""
# Blocks every third call too, and says so in the same words: the scenario cannot tell it from ours.
STAND_IN = """\
export const Guard = async () => {
  let calls = 0
  return {
    "tool.execute.before": async () => {
      if (++calls === 3) throw new Error("[ANTI-LOOP] the stand-in blocks")
    },
  }
}
"""


@pytest.fixture
def silent(project, monkeypatch):
    """A project whose OpenCode ends at once: a run that fails within a second."""
    monkeypatch.setenv("OPENCODE_TEST_BINARY", project.program("opencode", ANSWERS_VERSION + "exit 7\n"))
    project.scenario("greeting", GREETING)
    return project


HELD = """\
script:
  - say: Hello.
    gate: never
steps:
  - prompt: Hi.
"""


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ((), ["greeting", "loop"]),
        (("-k", "INF-21 and L06 and infinity"), ["loop"]),
        (("-m", "scenario and not incident"), ["greeting"]),
        (("loop.scenario.yaml::loop",), ["loop"]),
    ],
    ids=["all", "keywords", "marker", "one"],
)
def test_which_scenarios_are_collected(project, args, found):
    project.scenario("loop", LOOP)
    project.scenario("greeting", GREETING)
    (project.path / "not-ours.yaml").write_text("- 1\n")
    run = project.run("--collect-only", "-q", "--strict-markers", "-p", "no:xdist", *args)
    assert run.code == 0
    assert [line for line in run.text.splitlines() if "::" in line] == [f"{n}.scenario.yaml::{n}" for n in found]


def test_options_of_a_run_that_passes(project, opencode, monkeypatch):
    project.scenario("loop", LOOP)
    project.scenario("greeting", GREETING)
    (project.path / "stand-in.js").write_text(STAND_IN)
    monkeypatch.delenv("OPENCODE_TEST_BINARY")
    (project.path / "pytest.ini").write_text(f"[pytest]\nopencode_binary = {opencode.path}\n")
    run = project.run("--guard=stand-in.js", "--keep-runs=always", "--junitxml=junit.xml", "-v", "--step-timeout=90")
    assert (run.code, project.left()) == (0, [])
    assert f"opencode: {opencode.version} ({opencode.path}, given by the ini option opencode_binary)" in run.text
    assert "\nguardlab: 2 passed\n" in run.text
    assert project.kept() == ["greeting.scenario.yaml", "loop.scenario.yaml"]
    assert "stand-in blocks" in (project.path / ".guardlab" / "loop.scenario.yaml" / "timeline.ndjson").read_text()
    assert [told["guardlab_proves"] for _, told in project.junit().values()] == ["", "INF-02 INF-21"]


def test_nothing_is_kept_of_a_run_that_failed_if_nothing_may_be(silent):
    run = silent.run("--keep-runs=never")
    assert (run.code, silent.left(), silent.kept()) == (1, [], [])
    assert "artifacts:" not in run.text
    assert not (silent.path / ".guardlab").exists()


def test_the_option_for_the_binary_wins_over_the_variable_and_the_ini_file(silent):
    (silent.path / "pytest.ini").write_text("[pytest]\nopencode_binary = /nonexistent/ini\n")
    chosen = silent.program("chosen", ANSWERS_VERSION + "echo chosen; exit 8\n")
    run = silent.run(f"--opencode-binary={chosen}")
    assert f"opencode: 1.18.33 ({chosen}, given by --opencode-binary)" in run.text
    assert "ended with exit code 8" in run.text


def test_a_report_says_how_to_play_the_scenario_again_as_it_was_played(silent):
    silent.scenario("two words", GREETING)
    (silent.path / "my guard.js").write_text(STAND_IN)
    run = silent.run("two words.scenario.yaml", "--guard=my guard.js", "--opencode-version=1.18.3", "--step-timeout=9")
    assert "given by OPENCODE_TEST_BINARY; it wins over the wanted version 1.18.3)\n" in run.text
    command = re.search(r"^reproduce: (.*)$", run.text, re.MULTILINE)[1]
    assert shlex.split(command) == [
        "pytest",
        "two words.scenario.yaml",
        "--guard=my guard.js",
        "--opencode-version=1.18.3",
        "--step-timeout=9.0",
        "--keep-runs=always",
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--keep-runs=sometimes",), "argument --keep-runs: invalid choice: 'sometimes'"),
        (("--step-timeout=soon",), "argument --step-timeout: invalid float value: 'soon'"),
        (("--step-timeout=0",), "ERROR: the step timeout is 0 s; wanted more than 0 s"),
        (("--opencode-version=newest",), "ERROR: the OpenCode version is 'newest'; wanted a full one like 1.18.33, or"),
    ],
    ids=["keep-runs", "step-timeout", "no-step-timeout", "version"],
)
def test_an_option_that_makes_no_sense(silent, args, said):
    run = silent.run(*args)
    assert (run.code, silent.left(), silent.kept()) == (4, [], [])
    assert said in run.text
    assert "Traceback" not in run.text


def test_a_held_run_says_how_to_attach_and_ends_with_enter(project):
    project.scenario("greeting", GREETING)
    running = project.start("--hold", stdin=subprocess.PIPE)
    running.wait_for("Press Enter to end.")
    assert project.processes()
    running.process.stdin.write(b"\n")
    running.process.stdin.flush()
    ended = running.wait()
    running.process.stdin.close()
    assert (ended.code, project.left()) == (0, [])
    assert re.search(
        r"^  OPENCODE_SERVER_PASSWORD=\S+ \S+ attach http://\S+ --dir \S+ --session ses_\w+$", ended.text, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ((), "--hold holds one scenario, 2 are chosen: name its file, or use -k"),
        (("-k", "nothing"), "--hold holds one scenario, 0 are chosen: name its file, or use -k"),
        (("-n", "1"), "--hold needs the terminal, which the workers of xdist do not have: leave out -n"),
    ],
    ids=["two", "none", "workers"],
)
def test_what_cannot_be_held(project, args, problem):
    project.scenario("greeting", GREETING)
    project.scenario("loop", LOOP)
    run = project.run("--hold", *args)
    assert run.code == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: {problem}" in run.text


def test_a_scenario_is_over_before_pytest_timeout_ends_it(project):
    """Its own report says what was open and what had been seen; pytest-timeout would print stacks, and no more."""
    project.scenario("greeting", GREETING)  # takes the start of OpenCode upon itself, in a time of its own
    project.scenario("held", HELD)
    project.pytester.makeconftest("""
        import pytest
        def pytest_collection_modifyitems(items):
            items[0].add_marker(pytest.mark.timeout(90))
    """)
    run = project.run("--timeout=16", "--junitxml=junit.xml")
    assert run.code == 1
    found = re.search(
        r"^held\.scenario\.yaml:7:5: deadline: after \S+ s still waiting for: (.*)$", run.text, re.MULTILINE
    )
    assert found, run.text
    assert found[1] == "exchange 1 is open (session main, reply 1); session main is busy; gate never is closed"
    assert "The time for the whole run was up: pytest-timeout would have ended it without a report." in run.text
    shown = re.search(r"held at gate never\n(  #.*\n)*  #\d+ +\S+ user +gave up waiting after .*\nreproduce", run.text)
    assert shown, run.text
    assert "Timeout" not in run.text
    assert project.junit()["held"][0] < 16
    assert project.left() == []
