"""Each kind of entry in a few words."""

from __future__ import annotations

import pytest
from exchanges import closed

from harness.report.telling import TELLERS, is_telling, tell
from harness.timeline import Entry


def entry(kind, data):
    return Entry(1, 0.0, "opencode", kind, "events", 1, None, data)


def tool(status, **state):
    return {"part": {"type": "tool", "tool": "bash", "state": {"status": status, **state}}}


CASES = [
    ("prompt", {"step": 1, "text": "Go on.\nNow."}, "prompt: Go on. Now."),
    ("step", {"step": 2, "kind": "release", "gate": "mid"}, "step release {gate: mid}"),
    ("settled", {}, "settled"),
    (
        "exchange.received",
        {"number": 1, "reply": 2, "last_role": "tool", "last_text": "ok"},
        "exchange 1: request, reply 2, last tool: ok",
    ),
    ("exchange.first_chunk", {"number": 1}, "exchange 1: first chunk"),
    ("exchange.gate", {"number": 1, "gate": "mid"}, "exchange 1: held at gate mid"),
    ("exchange.released", {"number": 1, "gate": "mid"}, "exchange 1: gate mid released"),
    (
        "exchange.closed",
        closed(chunks_sent=9, chunks_scripted=9),
        "exchange 1: chunk 9 of 9 sent, complete",
    ),
    (
        "exchange.closed",
        closed(ended_by="client", chunks_sent=61, repeats=3),
        "exchange 1: chunk 61 sent (3 repeats), then closed by OpenCode",
    ),
    (
        "exchange.closed",
        closed(ended_by="fault", status=429, faults=("status",)),
        "exchange 1: chunk 0 sent, then fault status, status 429",
    ),
    (
        "exchange.closed",
        closed(ended_by="fault", chunks_sent=5, chunks_scripted=12, faults=("delay", "reset")),
        "exchange 1: chunk 5 of 12 sent, then fault delay, reset",
    ),
    (
        "exchange.closed",
        closed(ended_by="fault", status=500),
        "exchange 1: chunk 0 sent, then fault, status 500",
    ),
    (
        "exchange.closed",
        closed(ended_by="shutdown", chunks_sent=2),
        "exchange 1: chunk 2 sent, then shutdown",
    ),
    (
        "exchange.unscripted",
        {"number": 2, "reason": "no reply is left"},
        "exchange 2: UNSCRIPTED request; no reply is left",
    ),
    (
        "exchange.invalid",
        {"number": 2, "reason": "the call c has no result"},
        "exchange 2: INVALID request; the call c has no result",
    ),
    (
        "exchange.invalid",
        {"number": 2, "reason": "gate g is at 50, but the answer had only 5 chunks", "invariant": "unreached_point"},
        "exchange 2: gate g is at 50, but the answer had only 5 chunks",
    ),
    ("message.part.updated", tool("pending", input={}), "bash pending"),
    ("message.part.updated", tool("completed", input={"command": "ls"}, output="a"), "bash {command: ls} completed: a"),
    (
        "message.part.updated",
        tool("error", input={"command": "ls"}, error="[X] no"),
        "bash {command: ls} blocked: [X] no",
    ),
    ("message.part.updated", tool("error", input={}, error="other"), "bash error: other"),
    ("message.part.updated", {"part": {"type": "text", "text": "Hello."}}, "text: Hello."),
    ("session.status", {"status": {"type": "retry", "attempt": 1}}, "session.status retry (attempt 1)"),
    (
        "session.error",
        {"error": {"name": "MessageAbortedError", "data": {"message": "Aborted"}}},
        "session.error MessageAbortedError: Aborted",
    ),
    ("hook.event", {"type": "session.status", "status": "idle"}, "inside OpenCode: session.status idle"),
    ("message.user", {"text": "[X] go on", "synthetic": True}, "synthetic user message: [X] go on"),
    ("message.user", {"text": "Hi."}, "user message: Hi."),
    ("shell", {"command": "git status"}, "shell ran: git status"),
    ("exit", {"code": 1, "expected": True}, "OpenCode ended with 1"),
    ("exit", {"expected": True}, "OpenCode was killed"),
    ("deadline", {"seconds": 7.5}, "gave up waiting after 7.5 s"),
    ("exit", {"code": -9, "expected": False}, "OpenCode ended with -9, which nobody asked for"),
    ("loaded", {"guard": "infinity"}, "infinity loaded"),
    ("api.request", {"call": "session.abort"}, "calls session.abort"),
    ("api.request", {"call": "session.prompt_async", "text": "go"}, "calls session.prompt_async: go"),
    (
        "api.response",
        {"call": "session.abort", "status": 500, "fault": "status"},
        "session.abort answered 500 (fault status)",
    ),
    ("api.response", {"call": "session.abort", "status": None, "error": "refused"}, "session.abort answered refused"),
    ("log", {"line": "found"}, "log: found"),
    ("tui.toast.show", {"title": "Guard", "message": "A loop."}, "toast Guard: A loop."),
    ("permission.asked", {"permission": "bash"}, "permission asked: bash"),
    ("permission.replied", {"reply": "once"}, "permission replied: once"),
    ("todo.updated", {"sessionID": "s", "_id": "e", "todos": []}, "todo.updated"),
    ("vcs.branch", {"branch": "main", "ahead": 2}, "vcs.branch {branch: main, ahead: 2}"),
]


@pytest.mark.parametrize(("kind", "data", "text"), CASES)
def test_words(kind, data, text):
    assert tell(entry(kind, data), ["[X]"]) == text


def test_every_teller_is_tested():
    assert set(TELLERS) <= {kind for kind, _, _ in CASES}


@pytest.mark.parametrize(
    ("kind", "data", "told"),
    [
        ("session.updated", {}, False),
        ("hook.event", {}, False),
        ("message.part.updated", tool("running"), False),
        ("message.part.updated", tool("error"), True),
        ("message.part.updated", {"part": {"type": "step-start"}}, False),
        ("message.part.updated", {"part": {"type": "text", "text": ""}}, False),
        ("message.part.updated", {"part": {"type": "text", "text": "a"}}, True),
        ("prompt", {}, True),
    ],
)
def test_what_a_short_timeline_leaves_out(kind, data, told):
    assert is_telling(entry(kind, data)) is told
