from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.opencode.config import config_of, merged

GUARDS = [
    SimpleNamespace(spec="file:///a.js", root=Path("/a")),
    SimpleNamespace(spec=["file:///b.js", {}], root=Path("/b")),
]
PROBE = ["file:///probe.mjs", {"control": "127.0.0.1:1"}]


def config(**extra):
    return config_of(
        base_url="http://127.0.0.1:5/token/v1", shell=Path("/shell/bash"), probe=PROBE, guards=GUARDS, extra=extra
    )


def test_the_whole_config():
    model = {"name": "model", "tool_call": True, "reasoning": True, "limit": {"context": 200_000, "output": 32_000}}
    assert config() == {
        "snapshot": False,
        "share": "disabled",
        "autoupdate": False,
        "lsp": False,
        "formatter": False,
        "enabled_providers": ["test"],
        "model": "test/model",
        "small_model": "test/model",
        "shell": str(Path("/shell/bash")),
        "provider": {
            "test": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "test",
                "options": {"baseURL": "http://127.0.0.1:5/token/v1", "apiKey": "guardlab"},
                "models": {"model": model},
            }
        },
        "plugin": [PROBE, "file:///a.js", ["file:///b.js", {}]],
    }


def test_the_scenarios_config_comes_on_top():
    found = config(permission={"bash": "ask"}, snapshot=True, plugin=["file:///c.js"], provider={"test": {"npm": "x"}})
    assert found["permission"] == {"bash": "ask"}
    assert found["snapshot"] is True
    assert found["plugin"] == [PROBE, "file:///a.js", ["file:///b.js", {}], "file:///c.js"], "the probe stays the first"
    assert found["provider"]["test"]["npm"] == "x"
    assert found["provider"]["test"]["models"], "the rest of a mapping stays"


@pytest.mark.parametrize(
    ("base", "extra", "result"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": {"b": {"c": 1, "d": 2}}}, {"a": {"b": {"c": 3}}}, {"a": {"b": {"c": 3, "d": 2}}}),
        ({"a": [1]}, {"a": [1, 2]}, {"a": [1, 1, 2]}),
        ({"a": [1]}, {"a": "x"}, {"a": "x"}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": {"b": 1}}, {"a": None}, {"a": None}),
    ],
)
def test_merged(base, extra, result):
    copy = {key: value for key, value in base.items()}  # noqa: C416 - shallow on purpose
    assert merged(base, extra) == result
    assert base == copy


def test_merging_leaves_both_as_they_were():
    base, extra = {"a": {"b": [1]}}, {"a": {"b": [2]}}
    merged(base, extra)
    assert (base, extra) == ({"a": {"b": [1]}}, {"a": {"b": [2]}})
