"""What guardlab knows of OpenCode holds in the version that it is tested with, and a fact that has moved is told."""

from __future__ import annotations

import pytest

from harness import moved
from harness.moved import FACTS, examine_facts
from harness.opencode import isolation


def fact(lab, name):
    return moved._examine(lab, FACTS / f"{name}.yaml")


def test_every_fact_holds(lab):
    facts = list(examine_facts(lab))
    assert [one.name for one in facts] == sorted(path.stem for path in FACTS.glob("*.yaml"))
    assert "".join(one.report for one in facts) == ""
    assert all(one.holds for one in facts)


def test_a_home_without_its_seed_is_told(lab, monkeypatch):
    monkeypatch.setattr(isolation, "seed_config_folder", lambda folder, _version: folder.mkdir(parents=True))
    told = fact(lab, "seeded-home")
    assert not told.holds
    assert "invariant: a request tried to leave the machine: " in told.report


def test_a_log_of_another_form_is_told(lab, monkeypatch):
    monkeypatch.setattr(moved, "LOG_SECONDS", 0.1)
    monkeypatch.setattr(moved, "ERROR_LEVEL", "severity=error")
    told = fact(lab, "log-lines")
    assert not told.holds
    assert told.report == (
        "no line of the log has severity=error and message=process session.id=\n"
        'no line of the log has severity=error and message="stream error"\n'
    )


@pytest.mark.parametrize("name", sorted(moved.REFUSED))
def test_a_plugin_that_is_loaded_although_it_throws_is_told(lab, tmp_path, name):
    path = tmp_path / f"{name}.yaml"
    path.write_text((FACTS / "seeded-home.yaml").read_text().replace("plugins/", f"{FACTS}/plugins/"))
    told = moved._examine(lab, path)
    assert (told.holds, told.report) == (False, "its plugin was loaded\n")
