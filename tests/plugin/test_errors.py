"""Nine things that people get wrong: each is told clearly and soon, and leaves nothing behind."""

from __future__ import annotations

import pytest
from normalising import normal, section
from projects import ANSWERS_VERSION, GREETING

SECONDS = 20
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


def test_an_opencode_that_does_not_exist(project, monkeypatch, golden):
    monkeypatch.setenv("OPENCODE_TEST_BINARY", "/nonexistent")
    project.scenario("greeting", GREETING)
    run = project.run()
    assert (run.code, project.left(), project.kept()) == (4, [], [])
    golden("plugin-no-binary", run.text[run.text.index("ERROR: ") :].strip() + "\n")


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
