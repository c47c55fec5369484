from __future__ import annotations

import pytest

from harness.invariants import INVARIANTS, broken
from harness.timeline import Record, Timeline


def record(*entries, **facts):
    timeline = Timeline()
    for kind, data in entries:
        timeline.add("opencode", kind, "events", session="ses_1", data=data)
    return Record(timeline.entries, {"ses_1": "main"}, 0.0, facts)


def told(found):
    return [(one.name, one.kind, one.message, one.evidence, one.reply) for one in found]


def invalid(name, reason="the call call_1 of bash has no result"):
    return "exchange.invalid", {"number": 2, "reason": reason, "invariant": name}


def error(name, message, **data):
    return "session.error", {"error": {"name": name, "data": {"message": message}}, **data}


UNSCRIPTED = ("exchange.unscripted", {"number": 4, "reason": "no reply is left"})
FAR = (
    "exchange.invalid",
    {
        "number": 3, "session": "main", "reply": 2, "invariant": "unreached_point", "gate": "g",
        "reason": "gate g is at 50, but the answer had only 5 chunks",
    },
)  # fmt: skip
UNUSED = {"session": "work", "reply": 2, "used": 1, "wanted": 3}
ABORT = "session.abort"
REQUEST = ("api.request", {"id": 1, "call": ABORT})
ANSWER = ("api.response", {"id": 1, "call": ABORT, "status": 200, "fault": None})
ABORTED = error("MessageAbortedError", "Aborted")
FAILED = error("APIError", "Bad Request")
CLOSED = ("exchange.closed", {"number": 1, "status": 200, "ended_by": "script"})
FAULTY = ("exchange.closed", {"number": 1, "status": 200, "ended_by": "fault"})
SPOILED = ("exchange.closed", {"number": 1, "status": 200, "ended_by": "script", "faults": ["garbage"]})
REFUSED = ("exchange.closed", {"number": 1, "status": 400, "ended_by": "script"})
CUT_OFF = ("exchange.closed", {"number": 1, "status": None, "ended_by": "client"})
LOGGED = 'level=ERROR message="failed to load plugin" path=file:///x.js'
LOGGED_TWICE = "level=ERROR message=process session.id=ses_1 error=Bad Request"
STREAM = 'level=ERROR message="stream error" session.id=ses_1'
AGAIN = "was killed: /bin/sleep 60"

# name -> (a record that breaks it, what is told, records that are whole)
CASES = {
    "unscripted": (
        record(UNSCRIPTED, UNSCRIPTED),
        [("unscripted", "script", "unscripted request (exchange 4): no reply is left", (1,), None)],
        [record(CLOSED)],
    ),
    "unused": (
        record(CLOSED, unused=[UNUSED, {**UNUSED, "session": "any_time", "reply": 1, "used": 0}]),
        [
            ("unused", "script", "reply 2 of session work was used 1 of 3 times", (), ("work", 2)),
            ("unused", "script", "reply 1 of session any_time was used 0 of 3 times", (), ("any_time", 1)),
        ],
        [record(unused=[]), record()],
    ),
    "unreached_point": (
        record(
            FAR, ("exchange.invalid", {**FAR[1], "any_time": True}), ("exchange.invalid", {**FAR[1], "reply": None})
        ),
        [
            ("unreached_point", "script", FAR[1]["reason"], (1,), ("main", 2)),
            ("unreached_point", "script", FAR[1]["reason"], (2,), ("any_time", 2)),
            ("unreached_point", "script", FAR[1]["reason"], (3,), None),
        ],
        [record(invalid("unanswered_call"))],
    ),
    "unused_fault": (
        record(REQUEST, ANSWER, api_faults=["session.abort", "session.status"]),
        [
            ("unused_fault", "script", f"the fault of {ABORT} never acted: of 1 calls none was spoiled", (1,), None),
            ("unused_fault", "script", "the fault of session.status never acted: no guard made this call", (), None),
        ],
        [
            record(REQUEST, ("api.response", {**ANSWER[1], "fault": "status"}), api_faults=[ABORT]),
            record(REQUEST, api_faults=[ABORT]),
            record(UNSCRIPTED, api_faults=[ABORT]),
            record(REQUEST, ANSWER),
        ],
    ),
    "orphan_tool_result": (
        record(CLOSED, invalid("orphan_tool_result", "the result call_9 has no call")),
        [("orphan_tool_result", "invariant", "exchange 2: the result call_9 has no call", (2,), None)],
        [record(invalid("unanswered_call"))],
    ),
    "unanswered_call": (
        record(invalid("unanswered_call")),
        [("unanswered_call", "invariant", "exchange 2: the call call_1 of bash has no result", (1,), None)],
        [record(invalid("no_tools"))],
    ),
    "no_tools": (
        record(invalid("no_tools", "the request holds no tool schema")),
        [("no_tools", "invariant", "exchange 2: the request holds no tool schema", (1,), None)],
        [record(invalid("unanswered_call"))],
    ),
    "session_error": (
        record(ABORTED, FAILED, CLOSED),
        [("session_error", "invariant", "unexpected session.error: APIError: Bad Request", (2,), None)],
        [record(ABORTED, CLOSED), record(FAULTY, FAILED), record(SPOILED, FAILED), record(FAILED, REFUSED)],
    ),
    "error_log": (
        record(CLOSED, error_lines=[LOGGED_TWICE, LOGGED, STREAM]),
        [("error_log", "invariant", f"OpenCode logged an error: {line}", (), None) for line in (LOGGED, STREAM)],
        [record(error_lines=[LOGGED_TWICE]), record(error_lines=[]), record(SPOILED, error_lines=[STREAM])],
    ),
    "egress": (
        record(egress=["models.dev:443"]),
        [
            (
                "egress",
                "invariant",
                "a request tried to leave the machine: models.dev:443; nothing may be fetched during a run",
                (),
                None,
            )
        ],
        [record(egress=[])],
    ),
    "survivor": (
        record(survivors=["/bin/sleep 60"]),
        [("survivor", "invariant", f"a process outlived the run and {AGAIN}", (), None)],
        [record(survivors=[])],
    ),
    "port": (
        record(ports=[8000]),
        [
            (
                "port",
                "invariant",
                "OpenCode still listens on port 8000: a plugin opened it and did not close it when disposed of",
                (),
                None,
            )
        ],
        [record(ports=[])],
    ),
    "thread": (
        record(troubles=["ValueError: boom"]),
        [("thread", "invariant", "a thread of the harness failed: ValueError: boom", (), None)],
        [record(troubles=[])],
    ),
    "exit": (
        record(("exit", {"expected": True}), ("exit", {"expected": False, "code": -11})),
        [("exit", "crash", "OpenCode ended by itself with exit code -11", (2,), None)],
        [record(("exit", {"expected": True, "code": 1}))],
    ),
}


def test_every_invariant_has_a_case():
    assert list(CASES) == list(INVARIANTS)


@pytest.mark.parametrize("name", CASES)
def test_a_broken_record_is_told(name):
    seen, what, _ = CASES[name]
    assert told(broken(seen)) == what
    assert broken(seen, (name,)) == [], "allowed by name"
    assert told(broken(seen, tuple(other for other in INVARIANTS if other != name))) == what


@pytest.mark.parametrize("name", CASES)
def test_a_whole_record_passes(name):
    whole = CASES[name][2]
    assert [told(INVARIANTS[name](seen)) for seen in whole] == [[]] * len(whole)


def test_after_an_unscripted_request_nothing_counts_as_unused():
    assert [one.name for one in broken(record(UNSCRIPTED, unused=[UNUSED]))] == ["unscripted"]


def test_an_error_is_not_explained_by_a_client_that_left():
    assert [one.name for one in broken(record(CUT_OFF, FAILED))] == ["session_error"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"error": {"name": "UnknownError", "data": "text"}}, "UnknownError: text"),
        ({"error": {"name": "UnknownError"}}, "UnknownError: None"),
        ({}, "None: None"),
    ],
)
def test_an_error_of_another_shape_is_told_too(data, text):
    assert [one.message for one in broken(record(("session.error", data)))] == [f"unexpected session.error: {text}"]


def test_several_are_told_in_the_order_of_the_table():
    seen = record(FAILED, invalid("no_tools"), survivors=["x"], egress=["y"])
    assert [one.name for one in broken(seen)] == ["no_tools", "session_error", "egress", "survivor"]
