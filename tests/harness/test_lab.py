from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from fakemodel.server import FakeModelError
from fakemodel.source import SourceError
from harness import lab as room
from harness.errors import SetupError
from harness.lab import Lab
from harness.opencode.binary import Binary
from harness.report.run import Run
from harness.scenario.loader import loads
from harness.settings import Settings
from harness.timeline import Record

TEXT = """\
format: 1
title: One answer
guard: infinity
workspace: {files: {a.txt: hello}}
script: [{say: Hello.}]
steps: [{prompt: Go.}]
"""
NOTHING = Record((), {}, 0.0, {})
pytestmark = pytest.mark.usefixtures("no_new_threads")


@pytest.fixture(autouse=True)
def stage(tmp_path, monkeypatch):
    """Run labs without OpenCode: what `runner.play` is called with is noted instead."""
    played = []

    def play(scenario, _lab, props, hold, _until):
        played.append((scenario, props(), hold))
        return Run(scenario, NOTHING, None, (), (), 0.0)

    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(room, "ripgrep", lambda _settings: tmp_path / "rg")
    monkeypatch.setattr(room.runner, "play", play)
    yield played
    assert list(folder.iterdir()) == [], "a folder outlived its lab"


@pytest.fixture
def make(tmp_path):
    return lambda **given: Lab(Settings(), binary=Binary(tmp_path / "opencode", "1.18.33", "given"), **given)


@pytest.fixture
def scenario(tmp_path):
    return loads(TEXT, tmp_path / "x.scenario.yaml")


def test_a_lab_leaves_nothing(make):
    with make(tag="guardlab-mine") as lab:
        assert lab.tag == "guardlab-mine"
        assert lab.root.name.startswith("guardlab-mine-")
        assert lab.pool.running == (), "OpenCode is started when it is wanted"
    assert not lab.root.exists()


def test_two_labs_are_told_apart(make):
    tags = {make().tag, make().tag}
    assert len(tags) == 2
    assert all(tag.startswith("guardlab-") for tag in tags)


def test_a_program_that_is_missing(make, monkeypatch):
    def missing(_settings):
        raise SetupError("there is no rg")

    monkeypatch.setattr(room, "ripgrep", missing)
    with pytest.raises(SetupError, match=r"^there is no rg$"), make():
        pass


def test_a_scenario_finds_its_folders_laid_out(make, scenario, stage):
    with make() as lab:
        run = lab.play(scenario)
        ((chosen, props, hold),) = stage
        assert (chosen, hold) == (scenario, None)
        assert run.folder == props.folder == lab.root / "run-1"
        assert (props.workspace.root / "a.txt").read_text() == "hello"
        assert props.base.keys() == {"a.txt"}
        assert [guard.name for guard in props.guards] == ["infinity"]
        lab.play(scenario)
        assert not props.folder.exists(), "the folder stays until the next scenario is played"
        assert stage[1][1].folder == lab.root / "run-2"


def test_a_file_is_read(make, tmp_path, stage):
    path = tmp_path / "y.scenario.yaml"
    path.write_text(TEXT)
    with make() as lab:
        lab.play(str(path))
        assert stage[0][0].name == "y"
        path.write_text("title: no format")
        with pytest.raises(SourceError):
            lab.play(path)


def test_the_next_scenario_is_laid_out_meanwhile(make, scenario, tmp_path, stage):
    other = loads(TEXT, tmp_path / "other.scenario.yaml")
    with make() as lab:
        lab.play(scenario, upcoming=other)
        lab.play(other, upcoming=scenario)
        lab.play(other)
        folders = [props.folder.name for _, props, _ in stage]
        assert folders == ["run-1", "run-2", "run-4"], "run-3 was laid out for a scenario that was not played"


def test_a_mistake_in_what_is_laid_out_belongs_to_its_run(make, tmp_path, stage):
    broken = loads(TEXT.replace("infinity", "{path: none.js}"), tmp_path / "x.scenario.yaml")
    whole = loads(TEXT, tmp_path / "y.scenario.yaml")
    with make() as lab:
        lab.play(whole, upcoming=broken)
        with pytest.raises(SetupError, match=r"^guard none.js: .*none.js does not exist"):
            lab.play(broken)
    assert len(stage) == 1


def test_a_run_that_broke_off_early_leaves_whole_files(make, scenario, monkeypatch):
    """Whoever keeps them copies them at once."""
    broken_off = threading.Event()
    real = room.lay_out

    def slowly(*given):
        broken_off.wait(20)
        return real(*given)

    def play(scenario, *_):
        broken_off.set()
        return Run(scenario, NOTHING, None, (), (), 0.0)

    monkeypatch.setattr(room, "lay_out", slowly)
    monkeypatch.setattr(room.runner, "play", play)
    with make() as lab:
        assert (lab.play(scenario).folder / "guard-1").is_dir()


def test_another_guard_takes_the_place_of_each(make, tmp_path, stage):
    guard = tmp_path / "guards" / "own.js"
    guard.parent.mkdir()
    guard.write_text("")
    scenario = loads(TEXT, tmp_path / "x.scenario.yaml")
    with make(guard=guard) as lab:
        lab.play(scenario)
        (chosen, props, _hold), *_ = stage
        assert [(use.name, use.path, use.marker) for use in chosen.guards] == [("infinity", guard, "[ANTI-LOOP]")]
        assert [found.source for found in props.guards] == [guard]


def test_hold_is_handed_on(make, scenario, stage):
    with make() as lab:
        lab.play(scenario, hold=print)
    assert stage[0][2] is print


def test_troubles_of_threads_are_told_once(make):
    """Not even the end tells again what a run has told."""
    with make() as lab:
        assert lab.take_troubles() == []
        lab.tools.control.errors.append("probe reader: boom")
        lab.tools.model._app.errors.append(ValueError("boom"))
        assert lab.take_troubles() == ["probe reader: boom", "the fake model failed: ValueError('boom')"]
        assert lab.take_troubles() == []


def test_a_fake_model_that_broke_gives_way_to_another(make, scenario):
    """One whose loop has ended is in tests/plugin/test_endings.py."""
    with make() as lab:
        broken = lab.tools.model
        broken._app.errors.append(ValueError("boom"))
        with pytest.raises(FakeModelError):
            broken.open(scenario.script)
        assert len(lab.take_troubles()) == 1
        lab.tools.model.open(scenario.script).close()
        assert (lab.take_troubles(), broken._thread.is_alive()) == ([], False)


def test_folders_of_labs_that_were_killed_are_removed(make, tmp_path):
    later = f"{os.getpid()} 1000"  # this id, but of a process that began long ago
    notes = {"gone": "999999999", "again": later, "here": str(os.getpid())}
    for name, owner in notes.items():
        note = tmp_path / "temporary" / f"guardlab-{name}" / room.OWNER
        note.parent.mkdir()
        note.write_text(owner)
    with make():
        left = {folder.name for folder in (tmp_path / "temporary").iterdir()}
        assert left.intersection(f"guardlab-{name}" for name in notes) == {"guardlab-here"}
    shutil.rmtree(tmp_path / "temporary" / "guardlab-here")


def test_a_folder_that_another_lab_removes_meanwhile(make, monkeypatch):
    vanished = SimpleNamespace(read_text=lambda **_: Path("/nonexistent/owner").read_text())
    monkeypatch.setattr(Path, "glob", lambda *_: [vanished])
    with make():
        pass


def test_a_trouble_that_no_run_told_is_told_at_the_end(make, monkeypatch):
    lab = make()
    lab.__enter__()
    real = lab.tools.model.stop

    def stop():
        real()
        raise FakeModelError("the fake model failed") from ValueError("boom")

    monkeypatch.setattr(lab.tools.model, "stop", stop)
    with pytest.raises(FakeModelError, match=r"^the fake model failed$"):
        lab.__exit__(None, None, None)
    assert not lab.root.exists(), "everything else was undone"


def test_the_own_folder_is_a_real_path(make, tmp_path, monkeypatch):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "temporary", target_is_directory=True)
    monkeypatch.setattr(tempfile, "tempdir", str(link))
    with make() as lab:
        assert lab.root.parent == Path(tmp_path / "temporary").resolve()
