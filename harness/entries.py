"""Turns what the fake model reports into the plain data of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakemodel.exchange import Event as ModelEvent
    from fakemodel.exchange import Exchange

__all__ = ["exchange_data"]

CLIP = 2000


def exchange_data(event: ModelEvent) -> dict[str, Any]:
    """Give what an event of the fake model says, for its entry."""
    exchange = event.exchange
    data: dict[str, Any] = {
        "number": exchange.number, "session": exchange.session, "kind": exchange.kind,
        "reply": exchange.reply, "use": exchange.use,
        **{key: value for key, value in event.detail.items() if value is not None},
    }  # fmt: skip
    if event.kind == "received":
        data |= {"protocol": exchange.protocol, **_said(exchange)}
    if event.kind == "closed":
        ms = (event.at - exchange.received_at) * 1000
        data |= {
            "status": exchange.status, "ended_by": exchange.ended_by,
            "faults": list(exchange.faults), "chunks_sent": exchange.chunks_sent,
            "chunks_scripted": exchange.chunks_scripted, "text_sent": exchange.text_sent,
            "part": exchange.part, "repeats": exchange.repeats, "sentence": exchange.sentence,
            "stop_lag": exchange.stop_lag, "stalled": exchange.stalled, "ms": round(ms, 3),
        }  # fmt: skip
    return data


def _said(exchange: Exchange) -> dict[str, Any]:
    """Give what is new in a request: its last message, and the tool results since the last answer of the model.

    Google's protocol carries no call ids (the fake model counts the results instead), so none is told.
    """
    request, nameless = exchange.request, exchange.protocol == "google_generate"
    messages = request.messages
    last = messages[-1] if messages else None
    results = [
        {"call_id": "" if nameless else r.call_id, "text": r.text} for message in request.tail for r in message.results
    ]
    return {"last_role": last.role if last else None, "last_text": last.text[:CLIP] if last else "", "results": results}
