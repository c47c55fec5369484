"""Every protocol: the same history is read as the same request, and the wire holds what the provider sends."""

from __future__ import annotations

import json

import httpx
import pytest
from raw_client import RawClient

from fakemodel.protocols import protocols
from fakemodel.request import Call, Message, Result

ARGUMENTS = {"command": "git status"}

CHAT = {
    "model": "m",
    "stream": True,
    "messages": [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "bash", "arguments": json.dumps(ARGUMENTS)}},
                {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "clean"},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "text"}]},
        {"role": "user", "content": "And now?"},
    ],
    "tools": [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("bash", "read")],
}

RESPONSES = {
    "model": "m",
    "stream": True,
    "input": [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "reasoning", "id": "r", "summary": []},
        {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "a", "name": "bash", "arguments": json.dumps(ARGUMENTS)},
        {"type": "function_call", "call_id": "b", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "clean"},
        {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "text"}]},
        {"role": "user", "content": "And now?"},
    ],
    "tools": [{"type": "function", "name": name, "parameters": {}} for name in ("bash", "read")],
}

MESSAGES = {
    "model": "m",
    "stream": True,
    "system": [{"type": "text", "text": "Be kind."}],
    "messages": [
        {"role": "user", "content": "Go."},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "bash", "input": ARGUMENTS},
                {"type": "tool_use", "id": "b", "name": "read", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "clean"},
                {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "text"}]},
                {"type": "text", "text": "And now?"},
            ],
        },
    ],
    "tools": [{"name": name, "input_schema": {}} for name in ("bash", "read")],
}

GOOGLE = {
    "systemInstruction": {"parts": [{"text": "Be kind."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Go."}]},
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True},
                {"text": "I look."},
                {"functionCall": {"name": "bash", "args": ARGUMENTS}},
                {"functionCall": {"name": "read", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "bash", "response": {"name": "bash", "content": "clean"}}},
                {"functionResponse": {"name": "read", "response": {"output": "text"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "And now?"}]},
    ],
    "tools": [{"functionDeclarations": [{"name": "bash"}, {"name": "read"}]}],
}

ASKED = {
    "openai_chat": ("/v1/chat/completions", CHAT),
    "openai_chat_whole": ("/whole/v1/chat/completions", CHAT),
    "openai_responses": ("/v1/responses", RESPONSES),
    "anthropic_messages": ("/v1/messages", MESSAGES),
    "google_generate": ("/v1beta/models/m:streamGenerateContent", GOOGLE),
}


def read(name: str, body: dict | None = None):
    path, asked = ASKED[name]
    return protocols()[name].read(path, body or asked, {})


def test_every_protocol_is_tested():
    assert list(ASKED) == list(protocols())


@pytest.mark.parametrize("name", ASKED)
def test_a_history_is_read(name):
    request = read(name)
    first, second = ("google1", "google2") if name == "google_generate" else ("a", "b")
    assert (request.model, request.stream, request.system, request.tools) == ("m", True, "Be kind.", ("bash", "read"))
    results = [result for message in request.messages for result in message.results]
    assert results == [Result(first, "clean"), Result(second, "text")]
    assert [message for message in request.messages if message.role != "tool"] == [
        Message("user", "Go."),
        Message("assistant", "I look.", (Call(first, "bash", ARGUMENTS), Call(second, "read", {}))),
        Message("user", "And now?"),
    ]
    assert [message.role for message in request.tail][-2:] == ["tool", "user"]
    assert (request.user_text, request.last_role) == ("And now?", "user")


@pytest.mark.parametrize("name", ASKED)
def test_each_accepts_its_own_path_alone(name):
    path = ASKED[name][0]
    assert [each for each, protocol in protocols().items() if protocol.accepts(path)] == [name]
    assert not protocols()[name].accepts(f"{path}/more")


def test_deepinfra_puts_its_name_into_the_path():
    assert protocols()["openai_chat"].accepts("/v1/openai/chat/completions")


def test_google_tells_a_stream_by_its_path():
    body = ASKED["google_generate"][1]
    assert not protocols()["google_generate"].read("/v1beta/models/m:generateContent", body, {}).stream


def test_google_results_belong_to_the_first_open_call_of_their_name():
    contents = [
        {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {"n": n}}} for n in (1, 2)]},
        {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"result": n}}} for n in (1, 2)]},
        {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"result": "x"}}}]},
    ]
    request = read("google_generate", {"contents": contents})
    assert [result.call_id for result in request.results] == ["google1", "google2", "unknown read"]
    assert request.results[0].text == '{"result": 1}'


def test_responses_take_a_bare_text():
    request = read("openai_responses", {"model": "m", "input": "Go.", "instructions": "Be kind."})
    assert (request.system, request.messages, request.stream) == ("Be kind.", (Message("user", "Go."),), False)


def test_broken_arguments_stay_text():
    body = json.loads(json.dumps(CHAT))
    body["messages"][2]["tool_calls"][0]["function"]["arguments"] = '{"comm'
    assert read("openai_chat", body).messages[1].calls[0].arguments == '{"comm'


@pytest.mark.parametrize("name", ASKED)
def test_until_recognises_its_calls_in_every_protocol(play, name):
    """The id of a call comes back, or is made again by its place in the history."""
    one = play("- {call: {bash: {command: git status}}, until: {blocked: 1}, max: 3}\n- say: I stop.\n")
    url = one.stage.base_url().removesuffix("/v1") + ASKED[name][0]
    with RawClient(url, ASKED[name][1] | bare(name)) as client:
        body = client.read().decode()
    call_id = next((word for word in ("call00001",) if word in body), "google1")
    with RawClient(url, ASKED[name][1] | bare(name, call_id, "[ANTI-LOOP] blocked")) as client:
        assert b"I " in client.read()
    assert one.last().reply == 2
    assert one.told("invalid") == []


def bare(name: str, call_id: str = "", result: str = "") -> dict:
    """The part of a request that holds the history: a user text, and a call with its result."""
    call = {"id": call_id, "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    histories = {
        "openai_chat": (
            {"role": "user", "content": "Go."},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call_id, "content": result},
        ),
        "openai_responses": (
            {"role": "user", "content": "Go."},
            {"type": "function_call", "call_id": call_id, "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": call_id, "output": result},
        ),
        "anthropic_messages": (
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [{"type": "tool_use", "id": call_id, "name": "bash", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call_id, "content": result}]},
        ),
        "google_generate": (
            {"role": "user", "parts": [{"text": "Go."}]},
            {"role": "model", "parts": [{"functionCall": {"name": "bash", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"content": result}}}]},
        ),
    }
    key = {"openai_responses": "input", "google_generate": "contents"}.get(name, "messages")
    history = histories[name.removesuffix("_whole")]
    return {key: list(history if result else history[:1])}


@pytest.mark.parametrize(
    ("name", "finish", "wire"),
    [
        ("openai_chat", "unknown", '"finish_reason":"something_new"'),
        ("openai_chat", "none", '"finish_reason":null'),
        ("openai_responses", "unknown", '"incomplete_details":{"reason":"something_new"}'),
        ("openai_responses", "none", "response.output_item.done"),
        ("anthropic_messages", "unknown", '"stop_reason":"something_new"'),
        ("anthropic_messages", "none", '"stop_reason":null'),
        ("google_generate", "unknown", '"finishReason":"SOMETHING_NEW"'),
        ("google_generate", "none", '"usageMetadata"'),
    ],
)
def test_unusual_finish_reasons(play, name, finish, wire):
    one = play(f"- {{say: a, finish: {finish}}}")
    url = one.stage.base_url().removesuffix("/v1") + ASKED[name][0]
    with RawClient(url, ASKED[name][1] | bare(name)) as client:
        body = client.read().decode()
    assert wire in body
    if finish == "none":
        assert "finishReason" not in body
        assert "response.completed" not in body


@pytest.mark.parametrize("name", ASKED)
def test_errors_have_the_shape_of_the_provider(play, name):
    one = play("- {say: a, fault: {status: 429}}")
    url = one.stage.base_url().removesuffix("/v1") + ASKED[name][0]
    error = httpx.post(url, json=ASKED[name][1] | bare(name)).json()["error"]
    assert error["message"] == "Rate limit reached."


@pytest.mark.parametrize("name", ASKED)
def test_models_are_listed_in_every_protocol(play, name):
    one = play("[{say: a}]")
    listed = httpx.get(f"{one.stage.base_url(name)}/models").json()
    assert "fake" in json.dumps(listed)


def test_a_call_in_one_piece_for_xai_and_mistral(play):
    one = play("- {call: {bash: {command: git status --short}}, chunks: {size: 3}}")
    with RawClient(f"{one.stage.base_url('openai_chat_whole')}/chat/completions", CHAT | bare("openai_chat")) as client:
        frames = client.read().decode().split("\n\n")
    calls = [frame for frame in frames if "tool_calls" in frame and "delta" in frame and '"id":"call' in frame]
    assert len(calls) == 1
    assert '{\\"command\\": \\"git status --short\\"}' in calls[0]
    assert '"usage"' in frames[-3]


def test_responses_end_every_item_with_its_whole_text(play):
    one = play("- {think: Hm hm., say: One two., call: {bash: {command: ls}}, max_chunks: 100}")
    with RawClient(
        f"{one.stage.base_url('openai_responses')}/responses", RESPONSES | bare("openai_responses")
    ) as client:
        frames = client.read().decode().split("\n\n")
    events = [json.loads(frame.split("\ndata: ")[1]) for frame in frames if frame]
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done[0]["summary"] == [{"type": "summary_text", "text": "Hm hm."}]
    assert done[1]["content"][0]["text"] == "One two."
    assert (done[2]["arguments"], done[2]["call_id"]) == ('{"command": "ls"}', "call00001")
    assert events[-1]["response"]["output"] == done
    assert [event["type"] for event in events if event.get("output_index") == 1] == [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]


def test_an_endless_text_that_is_bounded_ends_with_what_was_said(play):
    one = play("- {say: Again., repeat: forever, max_chunks: 3}")
    with RawClient(
        f"{one.stage.base_url('openai_responses')}/responses", RESPONSES | bare("openai_responses")
    ) as client:
        body = client.read().decode()
    assert '"text":"Again. Again. Again. "' in body
