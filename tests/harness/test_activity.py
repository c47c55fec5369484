from __future__ import annotations

import pytest

from harness.activity import Activity
from harness.timeline import Entry

RECEIVED = ("exchange.received", None, {"number": 7, "session": "main", "reply": 2})
PROMPT = ("prompt", "ses_1", {})
TAKEN = ("message.user", "ses_1", {})
BUSY = ("hook.event", "ses_1", {"type": "session.status", "status": "busy"})
RETRY = ("hook.event", "ses_1", {"type": "session.status", "status": "retry"})
IDLE = ("hook.event", "ses_1", {"type": "session.status", "status": "idle"})
ERROR = ("hook.event", "ses_1", {"type": "session.error", "status": None})
DELETED = ("hook.event", "ses_1", {"type": "session.deleted", "status": None})
EXIT = ("exit", None, {"expected": True})


def request(number, call="session.prompt_async", keys=("parts",)):
    return "api.request", "ses_1", {"id": number, "call": call, "keys": list(keys)}


def response(number, status=204, call="session.prompt_async", **data):
    return "api.response", "ses_1", {"id": number, "call": call, "status": status, **data}


def hung(number, call="session.prompt_async", **data):
    return "api.hung", "ses_1", {"id": number, "call": call, **data}


def closed(number):
    return "exchange.closed", None, {"number": number}


def timer(event, number=1):
    return f"timer.{event}", None, {"id": number, "ms": 75.0}


def of(*entries):
    activity = Activity()
    for seq, (kind, session, data) in enumerate(entries, 1):
        activity.take(Entry(seq, 0.0, "opencode", kind, "probe", seq, session, data))
    return activity


EXCHANGE = "exchange 7 is open (session main, reply 2)"
BUSY_1 = "session ses_1 is busy"
NOT_TAKEN = "OpenCode has not taken up 1 accepted prompt(s) of session ses_1"
NOT_STARTED = "session ses_1 has a new message but did not start"
ABORTING = "the guard's call session.abort (ses_1) is in flight"
PROMPTING = "the guard's call session.prompt_async (ses_1) is in flight"
TIMER = "a timer of the guard (75 ms) is running"


@pytest.mark.parametrize(
    ("entries", "pending"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([("todo.updated", "ses_1", {})], [], id="what does not count"),
        # the model
        pytest.param([RECEIVED], [EXCHANGE], id="exchange"),
        pytest.param([RECEIVED, closed(8)], [EXCHANGE], id="another exchange closed"),
        pytest.param([RECEIVED, closed(7)], [], id="exchange closed"),
        # the user's prompt: accepted, taken up, started, idle
        pytest.param([PROMPT], [NOT_TAKEN], id="accepted"),
        pytest.param([PROMPT, IDLE], [NOT_TAKEN], id="an idle of before does not count"),
        pytest.param([PROMPT, TAKEN], [NOT_STARTED], id="taken up"),
        pytest.param([PROMPT, TAKEN, BUSY], [BUSY_1], id="busy"),
        pytest.param([PROMPT, BUSY, TAKEN], [BUSY_1], id="busy before it was told"),
        pytest.param([PROMPT, TAKEN, BUSY, RETRY], ["session ses_1 is retry"], id="retry"),
        pytest.param([PROMPT, TAKEN, BUSY, ERROR], [BUSY_1], id="an error alone ends nothing"),
        pytest.param([PROMPT, TAKEN, BUSY, IDLE], [], id="idle"),
        pytest.param([PROMPT, TAKEN, BUSY, IDLE, IDLE], [], id="idle twice"),
        pytest.param([PROMPT, TAKEN, BUSY, PROMPT], [BUSY_1, NOT_TAKEN], id="a prompt into a busy session"),
        pytest.param([PROMPT, TAKEN, BUSY, PROMPT, TAKEN], [BUSY_1], id="queued"),
        pytest.param([PROMPT, TAKEN, BUSY, PROMPT, TAKEN, IDLE], [], id="one idle for both"),
        pytest.param([PROMPT, TAKEN, BUSY, IDLE, PROMPT, TAKEN], [NOT_STARTED], id="the next turn"),
        pytest.param([TAKEN], [], id="a child's message, which nobody sent by the API"),
        pytest.param([PROMPT, ("message.user", "ses_2", {})], [NOT_TAKEN], id="another session's message"),
        pytest.param([PROMPT, DELETED], [], id="deleted before it was taken up"),
        pytest.param([PROMPT, TAKEN, DELETED], [], id="deleted before it started"),
        pytest.param([PROMPT, TAKEN, BUSY, DELETED], [], id="deleted while busy"),
        pytest.param([("prompt", None, {})], [], id="a prompt of opencode run"),
        pytest.param([("hook.event", None, {"type": "session.error", "status": None})], [], id="a load error"),
        # the guard's calls
        pytest.param([request(1, "session.abort")], [ABORTING], id="call"),
        pytest.param([request(1, "session.abort"), response(2, 200, "session.abort")], [ABORTING], id="another answer"),
        pytest.param([request(1, "session.abort"), response(1, 200, "session.abort")], [], id="call answered"),
        pytest.param([request(1, "session.abort"), response(1, None, "session.abort")], [], id="call failed"),
        pytest.param([request(1, "session.abort"), hung(1, "session.abort")], [], id="call left hanging"),
        # the guard's prompt, taken up before or after its call was answered
        pytest.param([request(1)], [NOT_TAKEN, PROMPTING], id="prompting"),
        pytest.param([request(1), TAKEN], [NOT_STARTED, PROMPTING], id="taken up before the answer"),
        pytest.param([request(1), TAKEN, response(1)], [NOT_STARTED], id="then answered"),
        pytest.param([request(1), TAKEN, response(1), BUSY], [BUSY_1], id="then busy"),
        pytest.param([request(1), response(1)], [NOT_TAKEN], id="answered before it was taken up"),
        pytest.param([request(1), response(1), TAKEN], [NOT_STARTED], id="then taken up"),
        pytest.param([request(1), response(1), TAKEN, BUSY], [BUSY_1], id="then busy too"),
        pytest.param([request(1), response(1, 200), TAKEN, BUSY, IDLE], [], id="then idle"),
        pytest.param([request(1), response(1, 400)], [], id="refused"),
        pytest.param([request(1), response(1, None)], [], id="never sent"),
        pytest.param([request(1), TAKEN, response(1, 500, forwarded=True)], [NOT_STARTED], id="the answer failed"),
        pytest.param(
            [PROMPT, request(1), TAKEN, response(1, 500, forwarded=True)], [NOT_TAKEN, NOT_STARTED], id="one of two"
        ),
        pytest.param([request(1), response(1, 500, forwarded=True)], [NOT_TAKEN], id="the answer failed first"),
        pytest.param([request(1), hung(1)], [], id="left hanging, never sent"),
        pytest.param([request(1), hung(1, forwarded=True)], [NOT_TAKEN], id="left hanging, but sent"),
        pytest.param([request(1, keys=("noReply", "parts")), TAKEN, response(1)], [], id="it starts no turn"),
        pytest.param([PROMPT, TAKEN, BUSY, IDLE, request(1), response(1, 500)], [], id="refused later"),
        pytest.param([request(1, "session.prompt"), response(1, 200, "session.prompt")], [NOT_TAKEN], id="prompt"),
        pytest.param([request(1, "session.command"), response(1, 200, "session.command")], [NOT_TAKEN], id="command"),
        # its timers
        pytest.param([timer("open")], [TIMER], id="timer"),
        pytest.param([timer("open"), timer("open", 2), timer("closed")], [TIMER], id="one of two"),
        pytest.param([timer("open"), timer("closed")], [], id="timer closed"),
        # a kill ends everything in OpenCode's process, and the fake model closes its streams itself
        pytest.param([RECEIVED, PROMPT, EXIT], [EXCHANGE], id="killed before it was taken up"),
        pytest.param([PROMPT, TAKEN, EXIT], [], id="killed before it started"),
        pytest.param([PROMPT, TAKEN, BUSY, request(1), timer("open"), EXIT], [], id="killed while busy"),
        pytest.param([PROMPT, TAKEN, BUSY, EXIT, PROMPT, TAKEN], [NOT_STARTED], id="a prompt after the restart"),
    ],
)  # fmt: skip
def test_pending(entries, pending):
    assert list(of(*entries).pending()) == pending


def test_every_session_has_its_own_count():
    activity = of(PROMPT, ("prompt", "ses_2", {}), PROMPT, TAKEN)
    assert list(activity.pending()) == [
        "OpenCode has not taken up 1 accepted prompt(s) of session ses_1",
        "OpenCode has not taken up 1 accepted prompt(s) of session ses_2",
        NOT_STARTED,
    ]
    assert activity.status == {}


def test_an_unscripted_request_is_remembered():
    assert not of(RECEIVED, closed(7)).unscripted
    assert of(RECEIVED, ("exchange.unscripted", None, {"number": 7}), closed(7)).unscripted
