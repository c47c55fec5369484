"""Exchanges as entries hold them: built by the harness's own hand, so that no test tells what no run ever says."""

from __future__ import annotations

from dataclasses import replace

from fakemodel.exchange import Event, Exchange
from fakemodel.request import Request
from harness.entries import exchange_data

EXCHANGE = Exchange(
    number=1, session="main", session_id="ses_1", parent_id=None, kind="main", protocol="openai_chat", reply=1, use=1,
    received_at=100.0, first_at=100.1, closed_at=100.41, status=200, ended_by="script", chunks_sent=0,
    chunks_scripted=None, part=None, repeats=0, sentence=None, text_sent=0, stop_lag=None, faults=(), stalled=None,
    request=Request("model", stream=True, system="", messages=(), tools=()),
)  # fmt: skip


def closed(**said):
    """Give the data of `exchange.closed` for an exchange of which the test says only what matters to it."""
    return exchange_data(Event("closed", 100.41, replace(EXCHANGE, **said), {}))
