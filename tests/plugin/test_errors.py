"""Things that people get wrong: each is told clearly and soon, and leaves nothing behind."""

from __future__ import annotations

import pytest
from normalising import normal, section
from projects import ANSWERS_VERSION, GREETING

SECONDS = 20
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
# A lab that lacks a program, and says when it looks for it.
LACKS = """\
from harness import lab
from harness.errors import SetupError

def ripgrep(settings):
    print("looking for ripgrep")
    raise SetupError("there is no ripgrep", "Install it.")

lab.ripgrep = ripgrep
"""
BROKEN = {
    "throws-at-import": "guard: {path: guards/import.js}\nscript: [{say: Hello.}]\nsteps: [{prompt: Hi.}]\n",
    "throws-at-init": "guard: {path: guards/init.js}\nscript: [{say: Hello.}]\nsteps: [{prompt: Hi.}]\n",
    "missing-path": "guard: {path: guards/nowhere.js}\nscript: [{say: Hello.}]\nsteps: [{prompt: Hi.}]\n",
    "runs-out": "script:\n  - call: {bash: {command: git status --short}}\nsteps:\n  - prompt: Look.\n",
    "never-used": "script:\n  - say: All clean.\n  - say: Nobody hears this.\nsteps:\n  - prompt: Look.\n",
}
KINDS = ["setup", "script", "script", "not loaded", "not loaded"]  # in the order of the names


def test_a_guard_or_a_script_that_is_wrong(project, golden):
    (project.path / "guards").mkdir()
    (project.path / "guards" / "import.js").write_text('throw new Error("no settings file")\n')
    (project.path / "guards" / "init.js").write_text(
        'export const Guard = async () => {\n  throw new Error("no database")\n}\n'
    )
    for name, text in BROKEN.items():
        project.scenario(name, text)
    run = project.run("--junitxml=junit.xml")
    assert (run.code, project.left()) == (1, [])
    assert project.kept() == sorted(f"{name}.scenario.yaml" for name in BROKEN)
    told = project.junit()
    assert [told[name][1]["guardlab_kind"] for name in sorted(BROKEN)] == KINDS
    assert {name: seconds for name, (seconds, _) in told.items() if seconds > SECONDS} == {}
    assert "guardlab: 0 passed, 5 failed (2 not loaded, 2 script, 1 setup)" in run.text
    for name in BROKEN:
        golden(f"plugin-{name}", normal(section(run.text, name), project=project.path))


def test_a_typo_in_a_key(project, golden):
    project.scenario("typo", GREETING.replace("prompt", "promt"))
    run = project.run()
    assert (run.code, project.left(), project.kept()) == (2, [], [])
    golden("plugin-typo", section(run.text, "ERROR collecting typo.scenario.yaml"))


@pytest.mark.parametrize(
    ("name", "does", "count"),
    [
        ("exits-at-once", "echo the database is locked >&2; exit 7\n", "1 crash"),
        ("never-listens", "echo starting; exec sleep 300\n", "1 deadline"),
    ],
    ids=["exits-at-once", "never-listens"],
)
def test_an_opencode_that_does_not_serve(project, golden, monkeypatch, name, does, count):
    monkeypatch.setenv("OPENCODE_TEST_BINARY", project.program("opencode", ANSWERS_VERSION + does))
    project.scenario("greeting", GREETING)
    run = project.run("--junitxml=junit.xml")
    assert (run.code, project.left(), project.kept()) == (1, [], ["greeting.scenario.yaml"])
    assert project.junit()["greeting"][0] < SECONDS
    assert f"guardlab: 0 passed, 1 failed ({count})" in run.text
    golden(f"plugin-{name}", normal(section(run.text, "greeting")))


@WORKERS
def test_an_opencode_that_does_not_exist(project, monkeypatch, golden, workers):
    monkeypatch.setenv("OPENCODE_TEST_BINARY", "/nonexistent")
    project.scenario("greeting", GREETING)
    project.pytester.makepyfile("def test_unit():\n    pass\n")
    run = project.run("--junitxml=junit.xml", *workers)
    assert (run.code, project.left(), project.kept()) == (1, [], [])
    assert "opencode: none (OPENCODE_TEST_BINARY names /nonexistent, which does not exist)\n" in run.text
    assert "1 failed, 1 passed" in run.text
    assert "guardlab: 0 passed, 1 failed (1 setup)" in run.text
    assert project.junit()["greeting"][0] < SECONDS
    golden("plugin-no-binary", section(run.text, "greeting"))
    assert project.run("-k", "unit", *workers).code == 0, "no scenario is chosen"


@WORKERS
def test_an_opencode_that_does_not_work_is_asked_once(project, monkeypatch, workers):
    monkeypatch.setenv("OPENCODE_TEST_BINARY", project.program("opencode", f"echo $1 >> {project.path}/asked\n"))
    for name in "abcd":
        project.scenario(name, GREETING)
    run = project.run(*workers)
    assert (run.code, project.left()) == (1, [])
    assert "guardlab: 0 passed, 4 failed (4 setup)" in run.text
    assert (project.path / "asked").read_text() == "--version\n"


def test_what_a_lab_lacks_is_looked_for_once(project):
    (project.path / "conftest.py").write_text(LACKS)
    for name in "abc":
        project.scenario(name, GREETING)
    run = project.run("-s")
    assert (run.code, project.left()) == (1, [])
    assert run.text.count("looking for ripgrep") == 1
    assert run.text.count(": setup: there is no ripgrep\n  Install it.") == 3


@WORKERS
def test_a_guard_that_does_not_exist_is_refused_once(project, workers):
    for name in "ab":
        project.scenario(name, GREETING)
    run = project.run("--guard=dist", *workers)
    assert (run.code, project.left(), project.kept()) == (4, [], [])
    assert run.text.count("ERROR: --guard: dist does not exist\nIs the plugin built?") == 1
    assert "relative to the scenario file" not in run.text
