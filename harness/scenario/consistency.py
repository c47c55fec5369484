"""What only the whole scenario file shows: names of one part that another part does not know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from fakemodel.loading import Problem, suggest
from harness.contracts import CONTRACTS
from harness.expectations.order import Order
from harness.expectations.requests import ExchangeEnded, StreamClosed
from harness.invariants import INVARIANTS
from harness.scenario.calls import meant_call
from harness.scenario.model import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fakemodel.loading import Document, Span
    from fakemodel.script import Script
    from harness.expectations.base import Expectation
    from harness.scenario.model import Check, Head, Scenario, Step
    from harness.scenario.steps import WaitFor

__all__ = [
    "IN_A_SESSION",
    "Place",
    "every_expectation",
    "is_child",
    "meant",
    "misnamed_sessions",
    "moments_at",
    "unknown_calls",
    "unknown_clauses",
    "unknown_gates",
    "unknown_guards",
    "unknown_invariants",
    "unknown_replies",
    "unknown_sessions",
]

Place: TypeAlias = tuple[str | int, ...]

IN_A_SESSION = ("prompt", "send", "abort")
"""The steps that name the session that they are about; it begins with the first of them."""

STATUS = "session.status"
CLAUSE = re.compile(r"[A-Z]+-[0-9]+")


def every_expectation(
    document: Document, steps: Iterable[Step], checks: Iterable[Check]
) -> Iterator[tuple[Place, Expectation]]:
    """Give every expectation of a file with the place of its value: of `wait_for`, of `expect`, and inside `order`."""
    found: list[tuple[Place, Expectation]] = [
        (("steps", step.index, step.kind, step.value.expectation.kind), step.value.expectation)
        for step in steps
        if step.kind == "wait_for" and step.value and step.value.expectation
    ]
    found += [(("expect", one.index, one.expectation.kind), one.expectation) for one in checks]
    for place, one in found:
        yield place, one
        if isinstance(one, Order):
            listed = moments_at(document, place)
            yield from (((*listed, index, inner.kind), inner) for index, inner in one.inner())


def moments_at(document: Document, place: Place) -> Place:
    """Give the place of the list of an `order`, which may stand there bare."""
    return (*place, "moments") if (*place, "moments") in document.spans else place


def is_child(session: str) -> bool:
    """Whether a session of this name is a subagent's, which OpenCode opens: `child`, `child[2]`."""
    return session.partition("[")[0] == "child"


def unknown_sessions(
    document: Document, script: Script, steps: Iterable[Step], checks: Iterable[Check]
) -> Iterator[Problem]:
    """Find sessions that nobody scripts: they would only be seen as unscripted requests, or wait for nothing."""
    steps = tuple(steps)
    known = {MAIN, *script.sessions, *(str(step.value) for step in steps if step.kind == "new_session")}
    named = [found for step in steps for found in _sessions(step)]
    named += [
        ((*place, "session"), name)
        for place, one in every_expectation(document, steps, checks)
        for name in sorted(one.sessions())
    ]
    for place, name in named:
        if name not in known:
            span = document.spans.get(place) or document.spans[place[:-1]]
            yield Problem(f"no session is called '{name}'", span, meant(name, known))


def _sessions(step: Step) -> Iterator[tuple[Place, str]]:
    """Give each place where a step names a session, and the name."""
    place: Place = ("steps", step.index)
    yield (*place, "session"), step.session
    if step.kind == "delete_session" and step.value:
        yield (*place, step.kind), step.value
    if step.kind == "wait_for" and step.value:
        wanted: WaitFor = step.value
        if wanted.idle:
            yield (*place, step.kind, "idle"), wanted.idle


def unknown_invariants(document: Document, allow: Iterable[str]) -> Iterator[Problem]:
    """Find names under `allow` that no invariant has."""
    for index, name in enumerate(allow):
        if name not in INVARIANTS:
            span = document.spans["allow", index]
            yield Problem(f"no invariant is called '{name}'", span, meant(name, INVARIANTS))


def unknown_clauses(document: Document, proves: Iterable[str]) -> Iterator[Problem]:
    """Find clauses that the summary would pass over: of a contract that guardlab knows, or that could be of none."""
    known = [clause for clauses in CONTRACTS.values() for clause in clauses]
    for index, clause in enumerate(proves):
        contract = clause.partition("-")[0]
        if clause in known or (CLAUSE.fullmatch(clause) and contract not in CONTRACTS):
            continue
        near = suggest(clause.upper(), known)
        hint = f"did you mean '{near}'?" if near else "a clause is written INF-01: a contract, and a number"
        yield Problem(f"no contract has the clause '{clause}'", document.spans["proves", index], hint)


def unknown_guards(scenario: Scenario) -> Iterator[Problem]:
    """Find expectations about a guard that the scenario has not."""
    known = [guard.name for guard in scenario.guards]
    for place, one in every_expectation(scenario.document, scenario.steps, scenario.checks):
        name = one.guard()
        if name is not None and name not in known:
            hint = meant(name, known) if known else "the scenario has no guard; name one under 'guard'"
            yield Problem(f"no guard here is called '{name}'", scenario.document.spans[*place, "by"], hint)


def unknown_replies(scenario: Scenario) -> Iterator[Problem]:
    """Find expectations about a reply by a number that its session's script has not."""
    sessions, any_time = scenario.script.sessions, len(scenario.script.any_time)
    for place, one in every_expectation(scenario.document, scenario.steps, scenario.checks):
        if isinstance(one, StreamClosed | ExchangeEnded) and one.reply:
            own = len(sessions[one.session].replies) if one.session in sessions else 0
            if one.reply > max(own, any_time):
                hint = f"the script of session {one.session} has {own}; a reply with 'times' counts once"
                yield Problem(f"there is no reply {one.reply}", scenario.document.spans[*place, "reply"], hint)


def misnamed_sessions(scenario: Scenario) -> Iterator[Problem]:
    """Find sessions that a step opens although they are there, or deletes although they are not."""
    living = {MAIN}
    for step in scenario.steps:
        if step.kind in IN_A_SESSION:
            living.add(step.session)
        if step.kind == "new_session":
            if step.value in living:
                hint = "choose another name, or delete_session before it"
                yield Problem(f"session {step.value} is there already", _value_span(scenario, step), hint)
            living.add(step.value)
        if step.kind == "delete_session" and not is_child(step.value):
            if step.value not in living:
                hint = "a session begins with a prompt or new_session"
                yield Problem(f"session {step.value} is not there yet", _value_span(scenario, step), hint)
            living.discard(step.value)


def _value_span(scenario: Scenario, step: Step) -> Span:
    return scenario.document.spans["steps", step.index, step.kind]


def unknown_gates(scenario: Scenario) -> Iterator[Problem]:
    """Find steps about gates that nothing holds at."""
    gates = scenario.model_gates | scenario.api_gates
    for step in scenario.steps:
        place: Place = ("steps", step.index, step.kind)
        gate = step.value if step.kind == "release" else step.kind == "wait_for" and step.value.gate
        if gate and gate not in gates:
            span = scenario.document.spans[place if step.kind == "release" else (*place, "gate")]
            hint = meant(gate, gates) if gates else "no reply and no API call has a gate"
            yield Problem(f"nothing holds at a gate called '{gate}'", span, hint)


def unknown_calls(document: Document, head: Head, steps: Iterable[Step]) -> Iterator[Problem]:
    """Find API calls that no guard can make, and answers to them that make no sense."""
    spans = document.spans
    named = [(document.key_spans["opencode", "api", name], name) for name in head.opencode.api]
    for step in steps:
        if step.kind == "wait_for" and step.value and step.value.api_call:
            place: Place = ("steps", step.index, "wait_for", "api_call")
            named.append((spans.get((*place, "call")) or spans[place], step.value.api_call.call))
    for span, name in named:
        hint = meant_call(name)
        if hint:
            yield Problem(f"no API call is called '{name}'", span, hint)
    for name, fault in head.opencode.api.items():
        if fault.busy and name != STATUS:
            span = document.key_spans["opencode", "api", name, "busy"]
            yield Problem(f"'busy' is an answer to {STATUS}, not to {name}", span, "choose another fault")


def meant(word: str, known: Iterable[str]) -> str:
    """Give the hint for an unknown word: the one that was meant, else all of them."""
    known = tuple(known)
    near = suggest(word, known)
    return f"did you mean '{near}'?" if near else f"known are: {', '.join(sorted(known))}"
