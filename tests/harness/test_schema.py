"""The JSON Schema of scenario files: it takes what the loader takes, and refuses what an editor can see to be wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fakemodel.loading import SourceError, load_file, load_text
from harness.expectations import REGISTRY
from harness.scenario.loader import loads
from harness.scenario.steps import STEPS
from harness.schema import scenario_schema

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "scenarios").rglob("*.scenario.yaml"), *(ROOT / "tests/semantics").rglob("*.yaml")])
SMALL = {"format": "1", "title": "t", "script": "[{say: a}]", "steps": "[{prompt: p}]"}


@pytest.fixture(scope="module")
def validator():
    return Draft202012Validator(scenario_schema())


def scenario(**keys: str) -> str:
    return "".join(f"{key}: {value}\n" for key, value in {**SMALL, **keys}.items())


def test_it_is_a_schema():
    Draft202012Validator.check_schema(scenario_schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_of_the_project_is_valid(validator, path):
    assert [error.message for error in validator.iter_errors(load_file(path).value)] == []


RIGHT = [
    {"guard": "none"},
    {"guard": "[infinity, {doom-loop: {threshold: 2}}, {path: ../dist, marker: '[M]'}]"},
    {"script": "{main: [{say: a}], child: {prompt: p, replies: [{say: b}]}, title: t, allow_extra: [main]}"},
    {"script": "[{say: a, pace: 50 tokens/s, elapsed: 2m, fault: {status: 500}}]"},
    {"script": "[{say: a, pace: 0, fault: [{stall: {at: end, for: 1s}, first: forever}, {cut: 3}]}]"},
    {"script": "[{calls: [{run: [git, status]}, {bash: {command: ls}}], times: 2}]"},
    {"steps": "[kill, restart, abort: null]"},
    {"steps": "[{prompt: p, session: work}, {permission: once}, {permission: {reply: reject, message: m}}]"},
    {"steps": "[{wait_for: settled}, {wait_for: {api_call: session.abort}}, {wait_for: {answer: a}}]"},
    {"steps": "[{wait_for: {api_call: {call: session.abort, times: 2}}}, {wait_for: {permission: bash}}]"},
    {"expect": "[{blocked: {nth: 3..}}, {blocked: {times: 0}}, {answer: a}, {requests: 2..3}, {exit: 0}]"},
    {"expect": "[{requests: {kind: child, times: 1}}, {stream_closed: {reply: 1, within: 2s}}]"},
    {"expect": "[{files: {a.txt: absent, b: {contains: c}}}, {order: [abort, {blocked: {tool: bash}}]}]"},
    {"opencode": "{api: {session.abort: {delay: 1s, first: 2}}, via: serve, config: {x: [1]}, env: {A: b}}"},
    {"quiet": "0", "allow": "[egress]", "systems": "[posix]", "source": "{row: L29}", "isolation": "process"},
]


@pytest.mark.parametrize("keys", RIGHT, ids=str)
def test_it_takes_what_the_loader_takes(validator, keys):
    value = load_text(scenario(**keys), "f").value
    assert [error.message for error in validator.iter_errors(value)] == []


WRONG = [
    {"format": "2"},
    {"titel": "t"},
    {"title": "5"},
    {"guard": "infinty"},
    {"guard": "{infinity: 3}"},
    {"guard": "{path: a, marke: b}"},
    {"script": "[]"},
    {"script": "{work: {prompt: p, replies: [{say: a}]}}"},
    {"script": "[{sya: a}]"},
    {"script": "[{say: a, pace: 5}]"},
    {"script": "[{say: a, pace: 5 h}]"},
    {"script": "[{say: a, elapsed: 50 tokens/s}]"},
    {"script": "[{say: a, repeat: 0}]"},
    {"script": "[{say: a, fault: {status: 200}}]"},
    {"script": "[{say: a, chunks: {by: letters}}]"},
    {"steps": "[]"},
    {"steps": "[prompt]"},
    {"steps": "[{kill: now}]"},
    {"steps": "[{prompt: ''}]"},
    {"steps": "[{prompt: p, send: q}]"},
    {"steps": "[{session: work}]"},
    {"steps": "[{permission: maybe}]"},
    {"steps": "[{wait_for: {settled: true}}]"},
    {"steps": "[{wait_for: {gate: a, idle: b}}]"},
    {"expect": "[{blockt: {}}]"},
    {"expect": "[{blocked: {nth: third}}]"},
    {"expect": "[{executed: {}}]"},
    {"expect": "[{answer: a, exit: 0}]"},
    {"expect": "[{exit: zero}]"},
    {"expect": "[{files: {a.txt: {has: b}}}]"},
    {"expect": "[{order: [abort]}]"},
    {"expect": "[{order: [abort, dinner]}]"},
    {"opencode": "{api: {session.abort: {status: 200}}}"},
    {"opencode": "{via: tui}"},
    {"allow": "[everything]"},
    {"systems": "[beos]"},
    {"quiet": "300"},
    {"proves": "INF-01"},
]


@pytest.mark.parametrize("keys", WRONG, ids=str)
def test_it_refuses_what_the_loader_refuses(validator, keys):
    text = scenario(**keys)
    with pytest.raises(SourceError):
        loads(text, Path("f.scenario.yaml"))
    assert not validator.is_valid(load_text(text, "f").value)


@pytest.mark.parametrize("missing", SMALL)
def test_a_missing_key_is_seen(validator, missing):
    value = {key: one for key, one in load_text(scenario(), "f").value.items() if key != missing}
    assert [error.message for error in validator.iter_errors(value)] == [f"'{missing}' is a required property"]


def test_every_step_and_expectation_is_described():
    properties = scenario_schema()["properties"]
    assert set(properties["expect"]["items"]["properties"]) == set(REGISTRY)
    assert set(properties["steps"]["items"]["anyOf"][1]["properties"]) == {*STEPS, "session"}


def test_every_reference_leads_somewhere():
    schema = scenario_schema()
    named = set(re.findall(r"'#/\$defs/(\w+)'", str(schema)))
    assert named <= schema["$defs"].keys()


def test_a_default_is_written_as_in_a_file():
    (mapping, _bare) = scenario_schema()["$defs"]["Toast"]["anyOf"]
    assert mapping["properties"]["times"]["default"] == "1.."
