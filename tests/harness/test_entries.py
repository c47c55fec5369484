from __future__ import annotations

from dataclasses import replace

from fakemodel.exchange import Event, Exchange
from fakemodel.request import Call, Message, Request, Result
from harness.entries import exchange_data

ASKED = (
    Message("user", "Check it."),
    Message("assistant", calls=(Call("call_1", "bash", {}),)),
    Message("tool", results=(Result("call_1", "old"),)),
    Message("assistant", calls=(Call("call_2", "bash", {}), Call("call_3", "read", {}))),
    Message("tool", "new", results=(Result("call_2", "new"), Result("call_3", "newer"))),
    Message("user", "[ANTI-LOOP] Stop."),
)
EXCHANGE = Exchange(
    number=3, session="main", session_id="ses_1", parent_id=None, kind="main", protocol="openai_chat", reply=2, use=1,
    received_at=10.0, first_at=10.1, closed_at=None, status=200, ended_by="client", chunks_sent=9, chunks_scripted=None,
    part=(0, "text"), repeats=4, sentence=2, text_sent=80, stop_lag=0.002, faults=("garbage",), stalled=0.5,
    request=Request("model", stream=True, system="", messages=ASKED, tools=("bash",)),
)  # fmt: skip
COMMON = {"number": 3, "session": "main", "kind": "main", "reply": 2, "use": 1}


def data(kind, messages=ASKED, protocol="openai_chat", **detail):
    request = replace(EXCHANGE.request, messages=messages)
    return exchange_data(Event(kind, 10.25, replace(EXCHANGE, request=request, protocol=protocol), detail))


def test_received_tells_what_is_new_in_the_request():
    assert data("received", elapsed=26.0, name=None) == {
        **COMMON,
        "elapsed": 26.0,
        "protocol": "openai_chat",
        "last_role": "user",
        "last_text": "[ANTI-LOOP] Stop.",
        "results": [{"call_id": "call_2", "text": "new"}, {"call_id": "call_3", "text": "newer"}],
    }


def test_received_without_messages():
    empty = data("received", messages=())
    assert (empty["last_role"], empty["last_text"], empty["results"]) == (None, "", [])


def test_google_sends_no_call_ids():
    results = data("received", protocol="google_generate")["results"]
    assert results == [{"call_id": "", "text": "new"}, {"call_id": "", "text": "newer"}]


def test_a_long_last_text_is_clipped():
    assert data("received", messages=(Message("user", "x" * 2001),))["last_text"] == "x" * 2000


def test_closed_tells_what_was_really_sent():
    assert data("closed") == {
        **COMMON,
        "status": 200,
        "ended_by": "client",
        "faults": ["garbage"],
        "chunks_sent": 9,
        "chunks_scripted": None,
        "repeats": 4,
        "text_sent": 80,
        "sentence": 2,
        "stalled": 0.5,
        "stop_lag": 0.002,
        "part": (0, "text"),
        "ms": 250.0,
    }


def test_the_rest_tells_its_detail():
    assert data("gate", gate="middle") == {**COMMON, "gate": "middle"}
    assert data("unscripted", reason="no reply is left") == {**COMMON, "reason": "no reply is left"}
    assert data("first_chunk") == COMMON
