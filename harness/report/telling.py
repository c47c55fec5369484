"""Tells one entry of the timeline in a few plain words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness.expectations.words import value_words

if TYPE_CHECKING:
    from harness.timeline import Entry

__all__ = ["is_telling", "tell"]

Data = Mapping[str, Any]

# Seen on every turn and twice at that: they push what matters out of a report of five lines.
DULL = frozenset(
    (
        "message.updated", "session.updated", "session.diff", "session.idle", "hook.before", "hook.after", "hook.event",
        "reference.updated", "integration.updated", "instance", "config", "disposed", "timer.open", "timer.closed",
        "server.instance.disposed", "lsp.updated", "file.watcher.updated",
    )
)  # fmt: skip


def is_telling(entry: Entry) -> bool:
    """Whether the entry says something that a reader of a short timeline wants to know."""
    if entry.kind == "message.part.updated":
        part = _part(entry.data)
        if part.get("type") == "tool":
            return (part.get("state") or {}).get("status") in ("completed", "error")
        return part.get("type") not in ("step-start", "step-finish") and part.get("text") != ""
    return entry.kind not in DULL


def tell(entry: Entry, markers: Sequence[str] = ()) -> str:
    """Say what the entry is, on one line. A tool's error that holds one of the guards' `markers` is a block."""
    if entry.kind == "message.part.updated":
        text = _part_updated(entry.data, markers)
    elif entry.kind in TELLERS:
        text = TELLERS[entry.kind](entry.data)
    else:
        text = f"{entry.kind} {_other(entry.data)}"
    return " ".join(text.split())


def _other(data: Data) -> str:
    """Tell an entry without a teller by the plain values that it holds."""
    kept = {key: value for key, value in data.items() if isinstance(value, str | int | float) and key not in HIDDEN}
    return value_words(kept) if kept else ""


HIDDEN = frozenset(("sessionID", "messageID", "partID", "_id", "id", "time"))


def _prompt(data: Data) -> str:
    return f"prompt: {data.get('text', '')}"


def _step(data: Data) -> str:
    rest = {key: value for key, value in data.items() if key not in ("step", "kind")}
    return f"step {data.get('kind', '')}" + (f" {value_words(rest)}" if rest else "")


def _received(data: Data) -> str:
    reply = f", reply {data['reply']}" if data.get("reply") else ""
    last = f", last {data['last_role']}: {data.get('last_text', '')}" if data.get("last_role") else ""
    return f"exchange {data.get('number')}: request{reply}{last}"


def _closed(data: Data) -> str:
    scripted = data.get("chunks_scripted")
    sent = f"chunk {data.get('chunks_sent')}" + (f" of {scripted}" if scripted is not None else "") + " sent"
    by = str(data.get("ended_by"))
    repeats = f" ({data['repeats']} repeats)" if data.get("repeats") else ""
    if by == "fault":
        ending = f", then fault {', '.join(data.get('faults') or ())}".rstrip()
    else:
        ending = {"script": ", complete", "client": ", then closed by OpenCode"}.get(by, f", then {by}")
    status = f", status {data['status']}" if data.get("status") not in (None, 200) else ""
    return f"exchange {data.get('number')}: {sent}{repeats}{ending}{status}"


def _unscripted(data: Data) -> str:
    return f"exchange {data.get('number')}: UNSCRIPTED request; {data.get('reason', '')}"


def _invalid(data: Data) -> str:
    what = "" if data.get("invariant") == "unreached_point" else "INVALID request; "
    return f"exchange {data.get('number')}: {what}{data.get('reason', '')}"


def _gate(data: Data) -> str:
    return f"exchange {data.get('number')}: held at gate {data.get('gate')}"


def _released(data: Data) -> str:
    return f"exchange {data.get('number')}: gate {data.get('gate')} released"


def _part(data: Data) -> Data:
    part = data.get("part")
    return part if isinstance(part, Mapping) else {}


def _part_updated(data: Data, markers: Sequence[str]) -> str:
    part = _part(data)
    if part.get("type") != "tool":
        return f"{part.get('type')}: {part.get('text') or ''}".rstrip()
    state = part.get("state") or {}
    call = f"{part.get('tool')} {value_words(state['input'])}" if state.get("input") else str(part.get("tool"))
    end = str(state.get("error") or state.get("output") or "") if state.get("status") in ("error", "completed") else ""
    outcome = "blocked" if any(marker in end for marker in markers) and state.get("error") else state.get("status")
    return f"{call} {outcome}" + (f": {end}" if end else "")


def _status(data: Data) -> str:
    status = data.get("status") or {}
    attempt = f" (attempt {status['attempt']})" if status.get("attempt") else ""
    return f"session.status {status.get('type')}{attempt}"


def _hook_event(data: Data) -> str:
    return f"inside OpenCode: {data.get('type')} {data.get('status') or ''}".rstrip()


def _error(data: Data) -> str:
    error = data.get("error") or {}
    message = (error.get("data") or {}).get("message")
    return f"session.error {error.get('name')}" + (f": {message}" if message else "")


def _user_message(data: Data) -> str:
    kind = "synthetic user message" if data.get("synthetic") else "user message"
    return f"{kind}: {data.get('text', '')}"


def _shell(data: Data) -> str:
    return f"shell ran: {data.get('command', '')}"


def _request(data: Data) -> str:
    return f"calls {data.get('call')}" + (f": {data['text']}" if data.get("text") else "")


def _response(data: Data) -> str:
    answer = data.get("error") or data.get("status")
    return f"{data.get('call')} answered {answer}" + (f" (fault {data['fault']})" if data.get("fault") else "")


def _toast(data: Data) -> str:
    title = f"{data['title']}: " if data.get("title") else ""
    return f"toast {title}{data.get('message', '')}"


def _exit(data: Data) -> str:
    ended = "was killed" if data.get("code") is None else f"ended with {data['code']}"
    return f"OpenCode {ended}" + ("" if data.get("expected") else ", which nobody asked for")


TELLERS: Mapping[str, Callable[[Data], str]] = {
    "prompt": _prompt,
    "step": _step,
    "settled": lambda _: "settled",
    "deadline": lambda data: f"gave up waiting after {data.get('seconds')} s",
    "exchange.received": _received,
    "exchange.first_chunk": lambda data: f"exchange {data.get('number')}: first chunk",
    "exchange.gate": _gate,
    "exchange.released": _released,
    "exchange.closed": _closed,
    "exchange.unscripted": _unscripted,
    "exchange.invalid": _invalid,
    "session.status": _status,
    "session.error": _error,
    "hook.event": _hook_event,
    "message.user": _user_message,
    "shell": _shell,
    "exit": _exit,
    "loaded": lambda data: f"{data.get('guard')} loaded",
    "api.request": _request,
    "api.response": _response,
    "log": lambda data: f"log: {data.get('line', '')}",
    "tui.toast.show": _toast,
    "permission.asked": lambda data: f"permission asked: {data.get('permission')}",
    "permission.replied": lambda data: f"permission replied: {data.get('reply')}",
}
