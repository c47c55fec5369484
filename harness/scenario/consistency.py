"""What only the whole scenario file shows: names of one part that another part does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fakemodel.loading import Problem, suggest
from harness.expectations.order import Order
from harness.invariants import INVARIANTS
from harness.scenario.calls import CALLS
from harness.scenario.model import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fakemodel.loading import Document
    from fakemodel.script import Script
    from harness.expectations.base import Expectation
    from harness.scenario.model import Check, Head, Scenario, Step
    from harness.scenario.steps import WaitFor

__all__ = [
    "Place",
    "every_expectation",
    "meant",
    "unknown_calls",
    "unknown_gates",
    "unknown_invariants",
    "unknown_sessions",
]

Place: TypeAlias = tuple[str | int, ...]

STATUS = "session.status"


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
            listed = (*place, "moments") if (*place, "moments") in document.spans else place
            yield from (((*listed, index, inner.kind), inner) for index, inner in one.inner())


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
        if name not in CALLS:
            near = suggest(name, CALLS)
            hint = f"did you mean '{near}'?" if near else "calls have the SDK's names, such as session.abort"
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
