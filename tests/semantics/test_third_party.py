"""A plugin of somebody else, as npm gives it: its own effect is seen, and its twin without the plugin shows none."""

from __future__ import annotations

import os

import pytest

from harness.opencode.npm import Npm
from harness.process.platform import System
from harness.scenario.loader import loads
from harness.settings import Settings

PACKAGE, VERSION = "oh-my-opencode-slim", "2.2.24"
MARKER = "[REPEATED TOOL CALLS - STOP]"
SCENARIO = """\
format: 1
title: A third-party plugin warns the model of its third equal call
{guard}
# It connects to two servers of its own when it starts; the trap on loopback refuses them.
allow: [egress]
script:
  - call: {{bash: {{command: git status}}}}
    times: 4
  - say: Clean.
steps: [{{prompt: Go.}}]
expect:
  - {expected}
  - executed: {{tool: bash, times: 4}}
  - answer: Clean.
"""


@pytest.fixture(scope="session")
def plugin():
    """The installed package, fetched once into guardlab's cache folder."""
    cache = Settings.from_environment(os.environ).cache_dir
    return Npm(System.detect().find("npm"), cache).install(PACKAGE, VERSION, holds_its_entry)


def holds_its_entry(folder):
    assert (folder / "dist" / "index.js").is_file()


def scenario(tmp_path, guard, expected):
    return loads(SCENARIO.format(guard=guard, expected=expected), tmp_path / "third-party.yaml")


def test_its_own_effect_on_a_tool_result_is_seen(lab, tmp_path, plugin):
    wanted = f"tool_result: {{tool: bash, nth: 3..4, contains: '{MARKER}'}}"
    run = lab.play(scenario(tmp_path, f"guard: {{path: {plugin}, name: slim}}", wanted))
    assert run.passed, run.report()


def test_without_the_plugin_it_is_absent(lab, tmp_path):
    run = lab.play(scenario(tmp_path, "guard: none", "tool_result: {tool: bash, nth: 1..4, identical: true}"))
    assert run.passed, run.report()
