"""A stage as its user meets it: answers, records, gates, generations, strictness."""

from __future__ import annotations

import threading
import time

import httpx
import pytest
from raw_client import RawClient, after_call, chat, deltas, said

from fakemodel import FakeModel, FakeModelError, JournalError, StageError, load_text, parse_script
from fakemodel.app import CLOSED_KEPT


def test_parts_are_streamed_in_order(play):
    one = play("- {think: Hm., say: I look., call: {bash: {command: ls}}, chunks: {by: words}}")
    body = one.answer()
    assert deltas(body) == [
        {"role": "assistant", "content": ""},
        {"reasoning_content": "Hm."},
        {"content": "I "},
        {"content": "look."},
        {
            "tool_calls": [
                {"index": 0, "id": "call00001", "type": "function", "function": {"name": "bash", "arguments": ""}}
            ]
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"command": '}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '"ls"}'}}]},
        {},
    ]
    assert body.endswith(b"data: [DONE]\n\n")
    record = one.last()
    assert (record.ended_by, record.status, record.session, record.reply, record.use) == ("script", 200, "main", 1, 1)
    assert record.chunks_sent == record.chunks_scripted == 10
    assert record.part == (2, "call")
    assert record.received_at <= record.first_at <= record.closed_at
    assert [event.kind for event in one.events] == ["received", "first_chunk", "closed"]


def test_received_tells_the_reply_and_its_time(play):
    one = play("- {say: a, elapsed: 26s, name: slow one}")
    one.answer()
    event = one.events[0]
    assert (event.kind, event.exchange.reply, dict(event.detail)) == (
        "received",
        1,
        {"elapsed": 26.0, "name": "slow one"},
    )


def test_an_unscripted_request_is_refused_and_explained(play):
    one = play("- {say: a, when: {user_says: Stop}}")
    with one.ask() as client:
        body = client.read()
    why = "nearest reply: 1, differs in when.user_says: wanted text containing 'Stop', got 'hi'"
    assert client.status == 501
    assert f"fakemodel: UNSCRIPTED request; {why}".encode() in body
    record = one.last()
    assert (record.ended_by, record.reply, record.status) == ("fault", None, 501)
    assert [event.detail["reason"] for event in one.told("unscripted")] == [why]
    assert [exchange.number for exchange in one.stage.unscripted] == [1]


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        ("/v1/embeddings", chat(), 404, "no protocol answers POST /v1/embeddings"),
        ("/v1/chat/completions", {"model": "m"}, 400, "the body is no request of openai_chat: KeyError('messages')"),
    ],
)
def test_what_is_no_request_counts_as_unscripted(play, path, body, status, reason):
    one = play("[{say: a}]")
    with RawClient(one.stage.base_url().removesuffix("/v1") + path, body) as client:
        assert client.head() == status
    one.last()
    assert [event.detail["reason"] for event in one.told("unscripted")] == [reason]


def test_unused_replies_are_listed_unless_allowed(play):
    one = play("{main: [{say: a}, {say: b, times: 2}, {say: c, name: late}], allow_unused: [late]}")
    one.answer()
    assert [(left.session, left.reply, left.used, left.wanted) for left in one.stage.unused()] == [("main", 2, 0, 2)]


def test_extra_requests_may_be_allowed(play):
    one = play("{main: [{say: a}], allow_extra: [main]}")
    assert [said(one.answer(chat(text))) for text in ("1", "2")] == ["a", "Nothing more is scripted."]
    assert one.stage.unscripted == ()


def test_title_and_compaction_are_answered_by_kind(play):
    one = play("{main: [{say: a}], title: A name, compaction: In short}")
    for system, text in (
        ("You are a title generator.", "A name"),
        ("You are a context summarization agent.", "In short"),
    ):
        body = chat(tools=False)
        body["messages"].insert(0, {"role": "system", "content": system})
        assert said(one.answer(body)) == text
    assert said(one.answer()) == "a"
    assert [exchange.kind for exchange in one.stage.journal.wait_for(3)] == ["title", "compaction", "main"]
    assert [exchange.reply for exchange in one.stage.journal.exchanges] == [None, None, 1]


def test_a_whole_answer(play):
    one = play("- {think: Hm., say: [a, b], calls: [{x: {n: 1}}, {y: {}}], usage: {input: 5, output: 7, reasoning: 2}}")
    answer = httpx.post(one.url, json=chat(stream=False)).json()
    message = answer["choices"][0]["message"]
    assert (message["content"], message["reasoning_content"]) == ("a b", "Hm.")
    assert [(call["id"], call["function"]) for call in message["tool_calls"]] == [
        ("call00001", {"name": "x", "arguments": '{"n": 1}'}),
        ("call00002", {"name": "y", "arguments": "{}"}),
    ]
    assert answer["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2}
    assert one.last().chunks_sent == 1


def test_an_endless_reply_must_be_streamed(play):
    one = play("- {say: a, repeat: forever}")
    assert httpx.post(one.url, json=chat(stream=False)).status_code == 501
    assert one.told("unscripted")[0].detail["reason"] == (
        "an endless reply can only be streamed, and this request wants no stream"
    )


def test_until_follows_what_the_guard_does(play):
    one = play("- {call: {bash: {command: ls}}, until: {blocked: 1}, max: 5}\n- say: I stop.\n")
    one.answer()
    assert said(one.answer(after_call("call00001", "a file"))) == ""
    assert said(one.answer(after_call("call00002", "[ANTI-LOOP] third time"))) == "I stop."


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (after_call("call00001", "x") | {"tools": []}, "the request holds no tool schema"),
        (
            {**chat(), "messages": after_call("call00001", "x")["messages"][:2]},
            "the call call00001 of bash has no result",
        ),
        (
            {**chat(), "messages": after_call("call00007", "x")["messages"][::2]},
            "the result call00007 has no call",
        ),
    ],
)
def test_requests_are_checked(play, body, reason):
    one = play("[{say: a}]")
    one.answer(body)
    one.last()
    assert [event.detail["reason"] for event in one.told("invalid")] == [reason]


def test_a_gate_holds_until_it_is_released(play):
    one = play("- {say: One two three., gate: {name: middle, at: middle}, pace: 0}")
    with one.ask() as client:
        assert said(client.read(events=2)) == "One "
        one.wait("gate")
        assert one.stage.waiting_gates() == ("middle",)
        assert [exchange.chunks_sent for exchange in one.stage.open_exchanges] == [2]
        one.stage.release("middle")
        assert said(client.read()) == "One two three."
    one.last()
    assert one.stage.waiting_gates() == ()
    assert [(event.kind, event.detail.get("gate")) for event in one.events[1:]] == [
        ("first_chunk", None),
        ("gate", "middle"),
        ("released", "middle"),
        ("closed", None),
    ]


@pytest.mark.parametrize(("at", "events"), [("start", 1), (3, 2), ("end", 4)])
def test_gates_stand_at_a_point(play, at, events):
    one = play(f"- {{say: One two three., gate: {{name: here, at: {at}}}, pace: 0}}")
    with one.ask() as client:
        client.read(events=events)
        one.wait("gate")
        client.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.socket.recv(1)
        assert [exchange.chunks_sent for exchange in one.stage.open_exchanges] == [events]
        one.stage.release("here")
        client.socket.settimeout(10)
        assert said(client.read()) == "One two three."


def test_a_gate_released_early_does_not_hold(play):
    one = play("- {say: a, gate: early}")
    one.stage.release("early")
    assert said(one.answer()) == "a"


def test_an_unknown_gate(play):
    one = play("- {say: a, gate: early}")
    with pytest.raises(StageError, match=r"^no reply has a gate 'erly'; gates of this script: early$"):
        one.stage.release("erly")


def test_a_point_that_never_comes_is_told(play):
    one = play("- {say: a, gate: {name: far, at: 50}}")
    one.answer()
    one.last()
    assert [event.detail for event in one.told("invalid")] == [
        {
            "invariant": "unreached_point",
            "reason": "gate far is at 50, but the answer had only 5 chunks",
            "gate": "far",
            "any_time": None,
        }
    ]


def test_points_that_never_come_are_told_apart(play):
    far = "{say: a, when: {user_says: hi}, gate: {name: far, at: 50}, fault: {cut: 60}}"
    one = play(f"{{main: [{{say: b, when: {{user_says: no}}}}], any_time: [{far}]}}")
    one.answer()
    one.last()
    assert [(e.detail["reason"], e.detail["gate"], e.detail["any_time"]) for e in one.told("invalid")] == [
        ("gate far is at 50, but the answer had only 5 chunks", "far", True),
        ("a fault is at 60, but the answer had only 5 chunks", None, True),
    ]


def test_a_closed_stage_ends_its_streams_and_counts_no_more(play):
    one = play("- {say: a, gate: held}")
    with one.ask() as client:
        client.read(events=1)
        one.stage.close()
        assert client.read() is not None
        assert client.ended == "fin"
    assert one.stage.journal.exchanges[0].ended_by == "shutdown"
    assert httpx.post(one.url, json=chat()).status_code == 410
    play("[{say: a}]")
    assert httpx.post(one.url, json=chat()).status_code == 410
    assert one.stage.journal.received == 1


def test_a_server_that_has_played_long_remembers_the_last_closed_stages_only(play):
    first, second = play("[{say: a}]"), play("[{say: a}]")
    for one in (first, second, *(play("[{say: a}]") for _ in range(CLOSED_KEPT - 1))):
        one.stage.close()
    last = play("[{say: a}]")
    assert httpx.post(first.url, json=chat()).status_code == 404
    assert httpx.post(second.url, json=chat()).status_code == 410
    assert said(last.answer()) == "a"


def test_stages_do_not_see_each_other(play):
    one, two = play("[{say: one}]"), play("[{say: two}]")
    assert said(two.answer()) == "two"
    assert said(one.answer()) == "one"
    assert (one.stage.journal.received, two.stage.journal.received) == (1, 1)


def test_an_unknown_token(play):
    one = play("[{say: a}]")
    assert httpx.post(one.url.replace(one.stage.token, "nobody"), json=chat()).status_code == 404


def test_models_are_listed(play):
    one = play("[{say: a}]")
    assert httpx.get(f"{one.stage.base_url()}/models").json()["data"][0]["id"] == "fake"
    assert one.stage.journal.received == 0


def test_an_unknown_protocol(play):
    with pytest.raises(StageError, match=r"^unknown protocol 'smoke'; known: openai_chat, openai_chat_whole, "):
        play("[{say: a}]").stage.base_url("smoke")


def test_secrets_are_redacted(play):
    one = play("[{say: a}]")
    one.answer(None, authorization="Bearer secret", x_api_key="secret")
    headers = one.last().request.headers
    assert (headers["authorization"], headers["x-api-key"]) == ("(redacted)", "(redacted)")


def test_the_journal_waits_and_says_what_it_saw(play):
    one = play("[{say: a}]")
    with pytest.raises(JournalError, match=r"^waited 0.1 s for 1 exchange\(s\) that ended; seen: no exchange$"):
        one.stage.journal.wait_for(1, timeout=0.1)
    one.answer()
    assert len(one.stage.journal.wait_for(1)) == 1
    one.stage.journal.silence(0.05)


def test_silence_ends_with_a_request(play):
    one = play("[{say: a}]")
    late = threading.Timer(0.1, one.answer)
    late.start()
    with pytest.raises(JournalError, match=r"^wanted no request for 10 s, got one: #1 main reply 1 ended by "):
        one.stage.journal.silence(10)
    late.join()


def test_paced_chunks_take_their_time(play):
    one = play("- {say: One two three four., pace: 30ms}")
    one.answer()
    record = one.last()
    assert record.closed_at - record.first_at >= 0.115


def test_a_pace_below_a_millisecond_is_kept_on_the_whole(play):
    one = play(f"- {{say: {'a ' * 500}, pace: 2000 tokens/s}}")
    one.answer()
    record = one.last()
    assert record.closed_at - record.first_at >= 0.24


def test_the_first_chunk_can_be_late(play):
    one = play("- {say: a, first_chunk_delay: 100ms}")
    one.answer()
    record = one.last()
    assert record.first_at - record.received_at >= 0.098
    assert record.stalled is None


def test_writes_can_be_cut_inside_of_characters(play):
    one = play("- {say: Größe 😀, wire: {bytes: 3}}")
    with one.ask() as client:
        assert said(client.read()) == "Größe 😀"
    assert {len(write) for write in client.writes[:-1]} <= {1, 2, 3}
    assert one.last().chunks_sent == one.last().chunks_scripted == 6


@pytest.mark.usefixtures("no_new_threads")
def test_the_server_leaves_no_thread_and_no_port():
    server = FakeModel()
    server.start()
    stage = server.open(parse_script(load_text("- {say: a, repeat: forever}", "f"), ()))
    url = f"{stage.base_url()}/chat/completions"
    with RawClient(url, chat()) as client:
        client.read(events=2)
        begun = time.monotonic()
        server.stop()
        assert time.monotonic() - begun < 3
    with pytest.raises(httpx.ConnectError):
        httpx.post(url, json=chat())
    server.stop()


def test_an_error_in_the_server_comes_home():
    def broken(_event):
        raise RuntimeError("a listener that fails")

    server = FakeModel()
    server.start()
    stage = server.open(parse_script(load_text("[{say: a}]", "f"), ()), broken)
    assert httpx.post(f"{stage.base_url()}/chat/completions", json=chat()).status_code == 500
    with pytest.raises(FakeModelError, match=r"^the fake model failed: RuntimeError\('a listener that fails'\)$"):
        server.check()
    with pytest.raises(FakeModelError, match="a listener that fails"):
        server.stop()


def test_a_server_that_is_not_started():
    with pytest.raises(FakeModelError, match=r"^the fake model is not running; call start\(\) first$"):
        FakeModel().open(parse_script(load_text("[{say: a}]", "f"), ()))
