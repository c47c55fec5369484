"""Scenario files that are right: every feature is read into the value that the rest of the harness works with."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakemodel.loading import SourceError, Span
from harness.expectations import REGISTRY
from harness.expectations.base import Range
from harness.scenario.loader import load, loads
from harness.scenario.model import ApiFault, GuardUse
from harness.scenario.steps import ApiCall, PermissionAsked, PermissionReply, WaitFor

HERE = Path("some/folder/a-case.scenario.yaml")
CALLS = ApiCall(call="session.abort", times=2)
ASKED = PermissionAsked(action="bash")
REQUIRED = {"title": "A case", "script": "[{say: Hello.}]", "steps": "[{prompt: Go.}]"}


def read(**keys: str):
    lines = {"format": "1", **REQUIRED, **keys}
    return loads("".join(f"{key}: {value}\n" for key, value in lines.items()), HERE)


def steps(text: str, **keys: str):
    return [(step.kind, step.value) for step in read(steps=f"[{{send: Go.}}, {text}]", **keys).steps[1:]]


def expected(text: str, **keys: str):
    (check,) = read(expect=f"[{text}]", **keys).checks
    return check.expectation


def test_the_smallest_file_has_every_default():
    scenario = read()
    assert (scenario.name, scenario.path, scenario.guards, scenario.checks) == ("a-case", HERE, (), ())
    assert (scenario.head.title, scenario.head.isolation, scenario.head.quiet) == ("A case", "shared", None)
    assert (scenario.head.opencode.via, scenario.head.workspace.files) == ("serve", {})
    assert [(step.kind, step.index, step.session, step.value) for step in scenario.steps] == [
        ("prompt", 0, "main", "Go.")
    ]
    assert [reply.name for reply in scenario.script.sessions["main"].replies] == [None]
    assert not scenario.isolated
    assert not scenario.claims_absence


def test_every_key_of_the_head_is_kept():
    head = read(
        proves="[INF-01, INF-02]",
        workspace='{files: {a.txt: "a\\n"}, changes: {b.txt: b}}',
        opencode="{config: {permission: {bash: ask}}, env: {TZ: UTC}, api: {session.abort: {delay: 500ms, first: 2}}}",
        isolation="process",
        allow="[error_log, orphan_tool_result]",
        quiet="1.5s",
        step_timeout="2m",
        systems="[posix, windows]",
        tags="[incident, slow]",
        source="{row: L29, link: none}",
    ).head
    assert head.proves == ("INF-01", "INF-02")
    assert (head.workspace.files, head.workspace.changes) == ({"a.txt": "a\n"}, {"b.txt": "b"})
    assert (head.opencode.config, head.opencode.env) == ({"permission": {"bash": "ask"}}, {"TZ": "UTC"})
    assert head.opencode.api == {"session.abort": ApiFault(delay="500ms", first=2)}
    assert head.opencode.api["session.abort"].delay == 0.5
    assert (head.isolation, head.allow) == ("process", ("error_log", "orphan_tool_result"))
    assert (head.quiet, head.step_timeout) == (1.5, 120.0)
    assert (head.systems, head.tags) == (("posix", "windows"), ("incident", "slow"))
    assert head.source == {"row": "L29", "link": "none"}


@pytest.mark.parametrize(
    ("written", "uses"),
    [
        ("none", ()),
        ("", ()),
        ("infinity", (GuardUse("infinity", None, None, "[ANTI-LOOP]"),)),
        ("doom-loop", (GuardUse("doom-loop", None, None, "[DOOM-LOOP]"),)),
        ("{anti-loop: }", (GuardUse("anti-loop", None, None, "[DETECTOR "),)),
        ("{infinity: {threshold: 4}}", (GuardUse("infinity", {"threshold": 4}, None, "[ANTI-LOOP]"),)),
        ("{path: ../dist}", (GuardUse("dist", None, Path("some/folder/../dist"), None),)),
        (
            "{path: p/index.js, name: mine, marker: '[M]', options: {a: 1}}",
            (GuardUse("mine", {"a": 1}, Path("some/folder/p/index.js"), "[M]"),),
        ),
        (
            "[infinity, {path: p, name: second}]",
            (GuardUse("infinity", None, None, "[ANTI-LOOP]"), GuardUse("second", None, Path("some/folder/p"), None)),
        ),
    ],
)
def test_a_guard_is_a_name_options_a_path_or_a_list(written, uses):
    assert read(guard=written).guards == uses


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("kill, restart, abort", [("kill", None), ("restart", None), ("abort", None)]),
        ("{abort: null}", [("abort", None)]),
        ("{new_session: work}, {delete_session: work}", [("new_session", "work"), ("delete_session", "work")]),
        ("{permission: once}", [("permission", PermissionReply(reply="once"))]),
        (
            "{permission: {reply: reject, action: bash, message: No.}}",
            [("permission", PermissionReply(reply="reject", action="bash", message="No."))],
        ),
        ("{wait_for: settled}", [("wait_for", WaitFor(settled=True))]),
        ("{wait_for: {idle: main}}", [("wait_for", WaitFor(idle="main"))]),
        ("{wait_for: {api_call: session.abort}}", [("wait_for", WaitFor(api_call=ApiCall(call="session.abort")))]),
        (
            "{wait_for: {api_call: {call: session.abort, times: 2}}}",
            [("wait_for", WaitFor(api_call=ApiCall(call="session.abort", times=2)))],
        ),
        ("{wait_for: {permission: bash}}", [("wait_for", WaitFor(permission=ASKED))]),
        (
            "{wait_for: {permission: {action: bash}}}",
            [("wait_for", WaitFor(permission=PermissionAsked(action="bash")))],
        ),
    ],
)
def test_steps(written, read_as):
    assert steps(written) == read_as


def test_gates_of_replies_and_of_api_calls_can_be_waited_for_and_released():
    scenario = read(
        opencode="{api: {session.status: {gate: status}}}",
        script="[{say: Hello., gate: {name: middle, at: middle}}]",
        steps="[{send: Go.}, {wait_for: {gate: status}}, {release: status}, {release: middle}]",
    )
    assert (scenario.model_gates, scenario.api_gates) == ({"middle"}, {"status"})
    assert [step.value for step in scenario.steps[1:]] == [WaitFor(gate="status"), "status", "middle"]


def test_wait_for_takes_any_expectation():
    ((_, waited),) = steps("{wait_for: {blocked: {tool: bash, nth: 3}}}")
    assert waited.expectation == REGISTRY["blocked"].model_validate({"tool": "bash", "nth": 3})
    ((_, bare),) = steps("{wait_for: {answer: Hello.}}")
    assert bare.expectation == REGISTRY["answer"].model_validate({"text": "Hello."})


@pytest.mark.parametrize("kind", ["prompt", "send", "abort"])
def test_a_step_names_its_session(kind):
    value = "" if kind == "abort" else "Go."
    scenario = read(script="{main: [{say: a}], work: [{say: b}]}", steps=f"[{{{kind}: {value}, session: work}}]")
    assert [step.session for step in scenario.steps] == ["work"]


def test_sessions_of_the_script_and_of_steps_can_be_named():
    scenario = read(
        script="{main: [{say: a}], child: {prompt: Find it, replies: [{say: b}]}, 'child[2]': [{say: c}]}",
        steps="[{prompt: Go.}, {new_session: late}, {wait_for: {idle: late}}]",
        expect="[{answer: {session: child, text: b}}, {blocked: {session: 'child[2]', times: 0}}]",
    )
    assert scenario.script.sessions["child"].prompt == "Find it"
    assert [sorted(check.expectation.sessions()) for check in scenario.checks] == [["child"], ["child[2]"]]


@pytest.mark.parametrize(
    ("written", "fields"),
    [
        ("{answer: Hello.}", {"text": "Hello.", "session": "main"}),
        ("{answer: {contains: ell, message: 2, part: 1}}", {"text": None, "contains": "ell", "message": 2, "part": 1}),
        ("{requests: 3..}", {"times": Range(3, None), "of": None}),
        ("{requests: {kind: child, times: ..2}}", {"times": Range(0, 2), "of": "child"}),
        ("{continuations: 0}", {"times": Range(0, 0)}),
        ("{idle_before: continuation}", {"of": "continuation"}),
        ("{toast: loop}", {"contains": "loop", "times": Range(1, None)}),
        ("{blocked: {input: {a: [1, {b: null}]}, nth: 3..5}}", {"input": {"a": [1, {"b": None}]}, "nth": Range(3, 5)}),
        ("{stream_closed: {reply: 1, within: 2s}}", {"reply": 1, "within": 2.0}),
        ("{files: {files: text}}", {"files": {"files": "text"}}),
    ],
)
def test_expectations(written, fields):
    found = expected(written)
    assert {name: getattr(found, name) for name in fields} == fields


def test_the_exit_code_and_the_standard_error_of_opencode_run_are_expected():
    assert expected("{exit: 1}", opencode="{via: run}").code == 1
    assert expected("{stderr: oops}", opencode="{via: run}").contains == "oops"


@pytest.mark.parametrize("kind", ["blocked", "requests", "stream_closed", "files", "log", "order"])
def test_what_is_seen_under_run_too_can_be_expected_there(kind):
    values = {
        "requests": "1", "stream_closed": "{reply: 1}", "files": "{a: absent}", "log": "{absent: a}",
        "order": "[prompt, stream_closed, idle, answer, blocked, executed]",
    }  # fmt: skip
    assert expected(f"{{{kind}: {values.get(kind, '{}')}}}", opencode="{via: run}").kind == kind


def test_order_holds_words_and_expectations():
    order = expected("{order: [abort, {blocked: {nth: 3}}, {answer: a}]}")
    assert [str(moment) for moment in order.moments] == ["abort", "{blocked: {nth: 3}}", "{answer: a}"]
    assert [(index, one.kind) for index, one in order.inner()] == [(1, "blocked"), (2, "answer")]


def test_files_are_expected_by_path():
    files = expected("{files: {a.txt: absent, b: {contains: b}, 'c d': {equals: absent}}}").files
    assert files["a.txt"] == "absent"
    assert (files["b"].contains, files["c d"].equals) == ("b", "absent")


def test_a_check_and_a_step_know_their_place():
    scenario = loads(
        "format: 1\ntitle: t\nscript: [{say: a}]\nsteps:\n  - prompt: Go.\n  - kill\nexpect:\n  - answer: a\n", HERE
    )
    assert [step.span for step in scenario.steps] == [Span(5, 5, 5, 11), Span(6, 5, 6, 9)]
    assert [check.span for check in scenario.checks] == [Span(8, 5, 8, 11)]
    assert [check.index for check in scenario.checks] == [0]


@pytest.mark.parametrize(
    "keys",
    [
        {"isolation": "process"},
        {"opencode": "{via: run}"},
        {"opencode": "{env: {A: b}}"},
        {"steps": "[{send: Go.}, kill]"},
        {"steps": "[{send: Go.}, restart]"},
        {"script": "[{say: a, elapsed: 26s}]"},
        {"script": "{main: [{say: a}], any_time: [{when: {user_says: x}, say: a, elapsed: 10m}]}"},
    ],
    ids=str,
)
def test_what_would_disturb_others_gets_a_process_of_its_own(keys):
    assert read(**keys).isolated


@pytest.mark.parametrize(
    ("written", "claims"),
    [("{blocked: {times: 0}}", True), ("{blocked: {}}", False), ("{files: {a: unchanged}}", True)],
)
def test_a_claimed_absence_is_known(written, claims):
    assert read(expect=f"[{written}]").claims_absence == claims


def test_yaml_is_read_as_version_1_2():
    scenario = read(title="On 12:30", script="[{say: No}, {say: on}, {say: 2001-01-01}]")
    assert scenario.head.title == "On 12:30"
    assert [reply.parts[0].prose.sentences for reply in scenario.script.replies] == [("No",), ("on",), ("2001-01-01",)]


def test_a_file_is_read_with_or_without_a_byte_order_mark_and_under_a_name(tmp_path):
    path = tmp_path / "a.scenario.yaml"
    text = "format: 1\ntitle: Ü\nscript: [{say: a}]\nsteps: [{prompt: p}]\n"
    for data in (text.encode(), text.encode("utf-8-sig"), text.replace("\n", "\r\n").encode()):
        path.write_bytes(data)
        assert load(path).head.title == "Ü"
    assert load(path, shown_as="scenarios/a.scenario.yaml").document.file == "scenarios/a.scenario.yaml"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"format: 1\ntitle: \xfc\n", "shown:1:1: the file is not UTF-8 text (byte 17)"),
        (None, "shown:1:1: the file cannot be read: No such file or directory"),
        (b"", "shown:1:1: a scenario file begins with 'format: 1'\n   write 'format: 1' as the first line"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(tmp_path, data, error):
    path = tmp_path / "a.scenario.yaml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(SourceError) as caught:
        load(path, shown_as="shown")
    assert str(caught.value).startswith(error)


def test_no_two_mistakes_hide_each_other():
    text = "format: 1\ntitle: 5\nguard: x\nscript: [{}]\nsteps: [{}]\nexpect: [{}]\nallow: [x]\n"
    with pytest.raises(SourceError) as caught:
        loads(text, HERE)
    assert [problem.span.line for problem in caught.value.problems] == [2, 3, 4, 5, 6]
    with pytest.raises(SourceError) as caught:
        loads(text.replace("title: 5", "title: t"), HERE)
    assert [problem.span.line for problem in caught.value.problems] == [3, 4, 5, 6, 7]
