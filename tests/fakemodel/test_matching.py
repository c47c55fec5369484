"""Which reply answers: order, conditions, retries, until; and why none does."""

from __future__ import annotations

import pytest

from fakemodel.conditions import Situation, difference
from fakemodel.loading import load_text, parse_script
from fakemodel.matching import Choice, Miss, ReplyPool, SessionProgress
from fakemodel.request import Call, Message, Request, Result
from fakemodel.script import When

MARKERS = ("[ANTI-LOOP]", "[ANTI-LOOP STREAM]")


class Past:
    """A last exchange."""

    def __init__(self, fate="script", *, faulted=False, chunks_sent=5):
        self.fate, self.faulted, self.chunks_sent = fate, faulted, chunks_sent


def request(*messages, system="", headers=None, body=None):
    messages = messages or (Message("user", "hi"),)
    shown = {"messages": repr(messages)} if body is None else body
    return Request(
        "m", stream=True, system=system, messages=messages, tools=("bash",), headers=headers or {}, body=shown
    )


def after_call(result, call_id="call00001", user="hi"):
    call = Message("assistant", calls=(Call(call_id, "bash", {}),))
    return request(Message("user", user), call, Message("tool", results=(Result(call_id, result),)))


def session(text):
    script = parse_script(load_text(text, "f.yaml"), ())
    return SessionProgress(script.sessions["main"], ReplyPool(script.any_time))


def told(found):
    return found.reason if isinstance(found, Miss) else (found.progress.position, found.use)


def choose(state, asked, past=None):
    found = state.choose(asked, MARKERS)
    if isinstance(found, Choice):
        state.past = past or Past()
    return told(found)


def test_replies_are_used_in_order_and_each_as_often_as_it_says():
    state = session("[{say: a, times: 2}, {say: b}]")
    assert [choose(state, request(Message("user", str(n)))) for n in range(4)] == [
        (1, 1),
        (1, 2),
        (2, 1),
        "session main has no reply left (2 of 2 used); the last role is user",
    ]


def test_rotate_answers_one_request_for_each_call():
    state = session("[{rotate: [{a: {}}, {b: {}}]}]")
    assert [choose(state, request(Message("user", str(n)))) for n in range(2)] == [(1, 1), (1, 2)]


def test_the_next_reply_must_fit():
    state = session("[{say: a, when: {user_says: Stop}}, {say: b}]")
    assert choose(state, request()) == (
        "nearest reply: 1, differs in when.user_says: wanted text containing 'Stop', got 'hi'"
    )
    assert choose(state, request(Message("user", "Stop that."))) == (1, 1)


def test_an_optional_reply_is_passed_over():
    state = session("[{say: a, optional: true, when: {user_says: Stop}}, {say: b}]")
    assert choose(state, request()) == (2, 1)


def test_the_last_optional_reply_is_named_when_it_does_not_fit():
    state = session("[{say: a, optional: true, when: {user_says: Stop}}]")
    assert choose(state, request()) == (
        "nearest reply: 1 (optional), differs in when.user_says: wanted text containing 'Stop', got 'hi'"
    )


def test_any_time_replies_come_when_the_next_one_does_not_fit():
    script = "main: [{say: a}, {say: b, when: {user_says: second}}]\nany_time: [{say: c, when: {user_says: Stop}}]"
    state = session(script)
    assert choose(state, request(Message("user", "Stop"))) == (1, 1)
    assert state.choose(request(Message("user", "Stop now")), MARKERS).progress.reply.parts[0].prose.sentences == ("c",)
    assert choose(state, request(Message("user", "second"))) == (2, 1)


@pytest.mark.parametrize(
    ("past", "retried"),
    [
        (Past("fault"), False),
        (Past("fault", faulted=True), True),
        (Past("script", faulted=True), True),
        (Past("client", chunks_sent=0), True),
        (Past("client", chunks_sent=1), False),
        (Past("script"), False),
    ],
)
def test_a_retry_does_not_shift_the_script(past, retried):
    state = session("[{say: a}, {say: b}]")
    assert choose(state, request(), past) == (1, 1)
    found = state.choose(request(), MARKERS)
    assert told(found) == ((1, 1) if retried else (2, 1))
    assert found.attempt == (2 if retried else 1)


def test_an_official_client_says_that_it_tries_again():
    state = session("[{say: a}, {say: b}]")
    assert choose(state, request()) == (1, 1)
    assert choose(state, request(headers={"x-stainless-retry-count": "1"})) == (1, 1)
    assert choose(state, request(headers={"x-stainless-retry-count": "0"})) == (2, 1)


def test_another_body_is_no_retry():
    state = session("[{say: a}, {say: b}]")
    assert choose(state, request(), Past("fault", faulted=True)) == (1, 1)
    assert choose(state, request(Message("user", "new"))) == (2, 1)


def test_until_counts_the_blocked_calls_of_this_reply_alone():
    state = session("[{call: {bash: {}}, until: {blocked: 2}, max: 5}, {say: done}]")
    first = state.choose(request(), MARKERS)
    first.progress.call_ids |= {"call00001", "call00002"}
    other = after_call("[ANTI-LOOP] no", "call00009")
    assert told(state.choose(other, MARKERS)) == (1, 2)
    blocked = after_call("[ANTI-LOOP] no", "call00001")
    assert told(state.choose(blocked, MARKERS)) == (1, 3)
    again = request(*blocked.messages, *after_call("[ANTI-LOOP] no", "call00002").messages)
    assert told(state.choose(again, MARKERS)) == (2, 1)


def test_until_takes_a_condition_and_answers_at_least_once():
    state = session("[{say: a, until: {user_says: Stop}, max: 3}, {say: b}]")
    assert choose(state, request(Message("user", "Stop"))) == (1, 1)
    assert choose(state, request(Message("user", "Stop it"))) == (2, 1)


def test_until_that_never_comes_is_explained():
    state = session("[{call: {bash: {}}, until: {blocked: 3}, max: 2}, {say: b}]")
    assert [choose(state, request(Message("user", str(n)))) for n in range(3)] == [
        (1, 1),
        (1, 2),
        (
            "nearest reply: 1, differs in until: it was used 2 times, its max, and the condition does not hold; "
            "0 of 3 were blocked"
        ),
    ]


def test_unused_replies_are_counted():
    state = session("[{say: a, times: 3}, {say: b, optional: true}, {call: {x: {}}, until: {blocked: 1}, max: 9}]")
    choose(state, request())
    left = [entry.unused("main") for entry in state.entries]
    assert [(each.reply, each.used, each.wanted) for each in left if each] == [(1, 1, 3), (3, 0, 1)]
    assert left[0].span.line == 1


@pytest.mark.parametrize(
    ("when", "asked", "last", "text"),
    [
        (When(user_says="hi"), request(), None, None),
        (
            When(user_says="x" * 200),
            request(),
            None,
            f"when.user_says: wanted text containing '{'x' * 100}'..., got 'hi'",
        ),
        (When(tool_result="out"), after_call("the output"), None, None),
        (When(tool_result="x"), after_call("out"), None, "when.tool_result: wanted text containing 'x', got 'out'"),
        (When(tool_result="x"), request(), None, "the last role: wanted tool, got user"),
        (When(tool_results=1), after_call("out"), None, None),
        (When(tool_results=2), after_call("out"), None, "when.tool_results: wanted 2, got 1"),
        (When(system_says="You"), request(system="You are"), None, None),
        (When(system_says="I"), request(), None, "when.system_says: wanted text containing 'I', got ''"),
        (When(header={"X-A": "b"}), request(headers={"x-a": "abc"}), None, None),
        (
            When(header={"x-a": "b"}),
            request(headers={"x-a": "c"}),
            None,
            "when.header.x-a: wanted text containing 'b', got 'c'",
        ),
        (When(header={"x-a": "b"}), request(), None, "when.header.x-a: wanted text containing 'b', got nothing"),
        (When(last_stream="client"), request(), "client", None),
        (When(last_stream="client"), request(), None, "when.last_stream: wanted client, got none yet"),
        (When(guard_says="no"), after_call("[ANTI-LOOP] no"), None, None),
        (When(guard_says="go on"), request(Message("user", "[ANTI-LOOP STREAM] go on")), None, None),
        (When(guard_says="no"), after_call("no"), None, "when.guard_says: wanted text containing 'no', got nothing"),
    ],
)
def test_conditions(when, asked, last, text):
    assert difference(when, Situation(asked, last, MARKERS)) == text


def test_an_old_tool_result_is_not_the_last_one():
    old = after_call("out")
    asked = request(*old.messages, Message("assistant", "ok"), Message("user", "next"))
    assert (
        difference(When(tool_result="out"), Situation(asked, None, MARKERS)) == "the last role: wanted tool, got user"
    )
