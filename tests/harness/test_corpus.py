from __future__ import annotations

from pathlib import Path

import pytest

from harness import corpus
from harness.commands.play import scenario_files

SCENARIOS = Path(__file__).parents[2] / "scenarios"
INCIDENTS, HEALTHY = SCENARIOS / "incidents", SCENARIOS / "healthy"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("corpus", [INCIDENTS, HEALTHY]),
        ("corpus/healthy", [HEALTHY]),
        ("corpus/incidents/one.scenario.yaml", [INCIDENTS / "one.scenario.yaml"]),
        ("corpus/others", [Path("corpus/others")]),
        ("scenarios", [Path("scenarios")]),
        (".", [Path()]),
    ],
)
def test_what_a_path_means(path, meant):
    assert corpus.named(Path(path)) == meant


def test_a_folder_of_this_name_is_what_it_is(here):
    (here / "corpus").mkdir()
    assert corpus.named(Path("corpus")) == [Path("corpus")]


def test_the_wheel_carries_its_own(here, monkeypatch):
    (here / "_corpus").mkdir()
    monkeypatch.setattr(corpus, "files", lambda _package: here)
    assert corpus.named(Path("corpus/healthy")) == [here / "_corpus" / "healthy"]


def test_play_takes_it():
    assert scenario_files([Path("corpus")]) == scenario_files([INCIDENTS, HEALTHY])
