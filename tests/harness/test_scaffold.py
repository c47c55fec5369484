"""The first files of a folder of scenarios: they are right as they are written, and nothing is ever overwritten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import SetupError
from harness.scaffold import WORKFLOW, scaffold
from harness.scenario.loader import load

ACTIONLINT = Path(sys.executable).with_name("actionlint")


@pytest.fixture
def plugin(tmp_path):
    (tmp_path / "plugin").mkdir()
    return tmp_path / "plugin"


def test_a_scenario_about_our_own_guard(tmp_path):
    (path,) = scaffold(tmp_path, "first")
    assert path == tmp_path / "scenarios" / "first.scenario.yaml"
    scenario = load(path)
    assert [guard.name for guard in scenario.guards] == ["infinity"]
    assert [check.expectation.kind for check in scenario.checks] == ["blocked", "executed", "executed", "answer"]


def test_a_scenario_about_a_plugin_names_it_from_its_own_folder(tmp_path, plugin):
    (path,) = scaffold(tmp_path, "deep/down", guard=plugin)
    assert 'guard: {path: "../../plugin"}' in path.read_text(encoding="utf-8").splitlines()
    (guard,) = load(path).guards
    assert guard.path.resolve() == plugin.resolve()
    assert [check.expectation.kind for check in load(path).checks] == ["executed", "answer"]


def test_a_plugin_with_a_strange_path_is_quoted(tmp_path):
    plugin = tmp_path / 'it\'s "mine": {a} #1'
    plugin.mkdir()
    (path,) = scaffold(tmp_path, "first", guard=plugin)
    (guard,) = load(path).guards
    assert guard.path.resolve() == plugin.resolve()


def test_a_name_with_the_suffix_is_a_path(tmp_path):
    (path,) = scaffold(tmp_path, "e2e/loop.scenario.yaml")
    assert path == tmp_path / "e2e" / "loop.scenario.yaml"


@pytest.mark.parametrize("package", [True, False])
def test_the_workflow_plays_the_folder_and_builds_a_package(tmp_path, plugin, package):
    if package:
        (tmp_path / "package.json").write_text("{}")
    _, workflow = scaffold(tmp_path, "e2e/loop.scenario.yaml", guard=plugin, ci=True)
    text = workflow.read_text(encoding="utf-8")
    assert workflow == tmp_path / WORKFLOW
    assert "      - run: guardlab play e2e\n" in text
    assert ("npm run build" in text) == package
    assert len(text.splitlines()) <= 22
    assert text.index("pip install guardlab &&") < text.index('key: "${{ env.GUARDLAB }}-')  # a version has its own
    checked = subprocess.run([ACTIONLINT, workflow], capture_output=True, text=True, check=False, timeout=60)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_what_is_there_is_never_overwritten(tmp_path):
    (path,) = scaffold(tmp_path, "first")
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(SetupError) as caught:
        scaffold(tmp_path, "first", ci=True)
    assert str(caught.value) == (f"{path} exists already; nothing was written\nChoose another name: guardlab new NAME")
    assert path.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / WORKFLOW).exists()


def test_a_workflow_that_is_there_keeps_the_scenario_from_being_written(tmp_path):
    (tmp_path / WORKFLOW).parent.mkdir(parents=True)
    (tmp_path / WORKFLOW).write_text("mine", encoding="utf-8")
    with pytest.raises(SetupError, match=r"guardlab\.yml exists already; nothing was written\nLeave --ci away\.$"):
        scaffold(tmp_path, "first", ci=True)
    assert not (tmp_path / "scenarios").exists()


def test_a_plugin_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(SetupError) as caught:
        scaffold(tmp_path, "first", guard=tmp_path / "gone")
    assert str(caught.value) == (
        f"--guard: {tmp_path / 'gone'} does not exist\nGive the folder of its package, or its file. Is it built?"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_file_is_an_error(tmp_path):
    (tmp_path / "scenarios").write_text("a file", encoding="utf-8")
    with pytest.raises(SetupError, match="cannot be written: "):
        scaffold(tmp_path, "first")
