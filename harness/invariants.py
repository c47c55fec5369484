"""The checks on every run: what no scenario has to ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from harness.errors import Kind
    from harness.timeline import Record

SESSION_ERROR_LINE = " message=process session.id="
STREAM_ERROR = ' message="stream error" '

__all__ = ["INVARIANTS", "Broken", "broken"]


class Broken:
    """One invariant that does not hold.

    Fields: `name` as `allow` says it, `kind` of the report, `message` what was found, `evidence` entry positions,
    `reply` (session, 1-based reply) where the script is meant, `call` (an API call's name) where its fault is.
    """

    def __init__(
        self,
        name: str,
        message: str,
        evidence: tuple[int, ...] = (),
        *,
        kind: Kind = "invariant",
        reply: tuple[str, int] | None = None,
        call: str | None = None,
    ) -> None:
        """Build one."""
        self.name = name
        self.kind: Kind = kind
        self.message = message
        self.evidence = evidence
        self.reply = reply
        self.call = call


def broken(record: Record, allowed: tuple[str, ...] = ()) -> list[Broken]:
    """Give what does not hold in a run, except for what the scenario allows by name."""
    return [found for name, check in INVARIANTS.items() if name not in allowed for found in check(record)]


def _unscripted(record: Record) -> Iterator[Broken]:
    """Every request has its reply; OpenCode tries an unscripted one again, so the first tells all."""
    for entry in record.of("exchange.unscripted")[:1]:
        yield Broken(
            "unscripted",
            f"unscripted request (exchange {entry.data['number']}): {entry.data['reason']}",
            (entry.seq,),
            kind="script",
        )


def _unused(record: Record) -> Iterator[Broken]:
    """Every required reply is used; after an unscripted request the rest of the script has no chance to be."""
    if record.of("exchange.unscripted"):
        return
    for unused in record.facts.get("unused", ()):
        times = f"{unused['used']} of {unused['wanted']} times"
        what = f"reply {unused['reply']} of session {unused['session']} was used {times}"
        yield Broken("unused", what, kind="script", reply=(unused["session"], unused["reply"]))


def _unused_fault(record: Record) -> Iterator[Broken]:
    """Every fault of an API call acts on one; it may have acted on a call without an answer."""
    if record.of("exchange.unscripted"):
        return
    for name in record.facts.get("api_faults", ()):
        calls = [entry for entry in record.of("api.request") if entry.data["call"] == name]
        answers = [entry for entry in record.of("api.response") if entry.data["call"] == name]
        if len(answers) == len(calls) and not any(answer.data["fault"] for answer in answers):
            made = f"of {len(calls)} calls none was spoiled" if calls else "no guard made this call"
            evidence = tuple(call.seq for call in calls)
            yield Broken("unused_fault", f"the fault of {name} never acted: {made}", evidence, kind="script", call=name)


def _invalid(name: str) -> Callable[[Record], Iterator[Broken]]:
    def check(record: Record) -> Iterator[Broken]:
        for entry in record.of("exchange.invalid"):
            if entry.data["invariant"] == name:
                yield Broken(name, f"exchange {entry.data['number']}: {entry.data['reason']}", (entry.seq,))

    return check


def _unreached_point(record: Record) -> Iterator[Broken]:
    """Find gates and faults that their answers never came to: they did nothing, so the script is wrong."""
    for entry in record.of("exchange.invalid"):
        data = entry.data
        if data["invariant"] == "unreached_point":
            session = "any_time" if data.get("any_time") else data["session"]
            reply = (session, data["reply"]) if data["reply"] else None
            yield Broken("unreached_point", data["reason"], (entry.seq,), kind="script", reply=reply)


def _session_error(record: Record) -> Iterator[Broken]:
    """Find errors of a session that nobody caused: an abort is wanted, a faulty answer of the model explains one."""
    explained = _has_faulty_answer(record)
    for entry in record.of("session.error"):
        error = entry.data.get("error") or {}
        if error.get("name") != "MessageAbortedError" and not explained:
            yield Broken("session_error", f"unexpected session.error: {_short(error)}", (entry.seq,))


def _has_faulty_answer(record: Record) -> bool:
    """Whether the script spoiled an answer, or a request got none: OpenCode then reports what it could not use."""
    return any(
        e.data.get("faults") or e.data.get("ended_by") == "fault" or (e.data.get("status") or 0) >= 400
        for e in record.of("exchange.closed")
    )


def _short(error: Mapping[str, object]) -> str:
    data = error.get("data")
    return f"{error.get('name')}: {data.get('message') if isinstance(data, dict) else data}"


def _error_log(record: Record) -> Iterator[Broken]:
    """Find errors in OpenCode's log.

    It logs each session.error a second time, which is judged above, and each answer of the model that it could not use.
    """
    faulty = _has_faulty_answer(record)
    for line in record.facts.get("error_lines", ()):
        if SESSION_ERROR_LINE in line or (faulty and STREAM_ERROR in line):
            continue
        yield Broken("error_log", f"OpenCode logged an error: {line}")


def _egress(record: Record) -> Iterator[Broken]:
    for attempt in record.facts.get("egress", ()):
        yield Broken("egress", f"a request tried to leave the machine: {attempt}; nothing may be fetched during a run")


def _survivor(record: Record) -> Iterator[Broken]:
    for line in record.facts.get("survivors", ()):
        yield Broken("survivor", f"a process outlived the run and was killed: {line}")


def _port(record: Record) -> Iterator[Broken]:
    for port in record.facts.get("ports", ()):
        yield Broken(
            "port", f"OpenCode still listens on port {port}: a plugin opened it and did not close it when disposed of"
        )


def _thread(record: Record) -> Iterator[Broken]:
    for trouble in record.facts.get("troubles", ()):
        yield Broken("thread", f"a thread of the harness failed: {trouble}")


def _exit(record: Record) -> Iterator[Broken]:
    for entry in record.of("exit"):
        if not entry.data.get("expected"):
            yield Broken(
                "exit", f"OpenCode ended by itself with exit code {entry.data.get('code')}", (entry.seq,), kind="crash"
            )


INVARIANTS: Mapping[str, Callable[[Record], Iterator[Broken]]] = {
    "unscripted": _unscripted,
    "unused": _unused,
    "unreached_point": _unreached_point,
    "unused_fault": _unused_fault,
    "orphan_tool_result": _invalid("orphan_tool_result"),
    "unanswered_call": _invalid("unanswered_call"),
    "no_tools": _invalid("no_tools"),
    "session_error": _session_error,
    "error_log": _error_log,
    "egress": _egress,
    "survivor": _survivor,
    "port": _port,
    "thread": _thread,
    "exit": _exit,
}
