"""What only the whole scenario file shows: names of one part that another part does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fakemodel.loading import Problem, suggest
from harness.invariants import INVARIANTS
from harness.scenario.model import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fakemodel.loading import Document
    from fakemodel.script import Script
    from harness.scenario.model import Check, Scenario, Step
    from harness.scenario.steps import WaitFor

__all__ = ["meant", "out_of_reach", "unknown_gates", "unknown_invariants", "unknown_sessions"]

Place: TypeAlias = tuple[str | int, ...]


def unknown_sessions(
    document: Document, script: Script, steps: Iterable[Step], checks: Iterable[Check]
) -> Iterator[Problem]:
    """Find sessions that nobody scripts: they would only be seen as unscripted requests, or wait for nothing."""
    steps = tuple(steps)
    known = {MAIN, *script.sessions, *(str(step.value) for step in steps if step.kind == "new_session")}
    named = [found for step in steps for found in _sessions(step)]
    named += [
        (("expect", one.index, one.expectation.kind, "session"), name)
        for one in checks
        for name in sorted(one.expectation.sessions())
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
        if wanted.expectation:
            for name in sorted(wanted.expectation.sessions()):
                yield (*place, step.kind, wanted.expectation.kind, "session"), name


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


def out_of_reach(scenario: Scenario) -> Iterator[Problem]:
    """Find what `opencode run` has no way to do."""
    document = scenario.document
    if scenario.head.opencode.via != "run":
        return
    if scenario.head.opencode.api:
        # Seen: there a plugin's client calls OpenCode inside the process, and nothing passes through fetch.
        hint = "use serve (leave 'via' out), where every call can be spoiled"
        yield Problem(
            "opencode run shows no API call of a guard, so none can be spoiled",
            document.key_spans["opencode", "api"],
            hint,
        )
    for step in scenario.steps:
        if step.kind != "prompt":
            hint = "use serve (leave 'via' out), which takes every step"
            yield Problem(f"opencode run knows no {step.kind}; it runs prompts only", step.span, hint)


def meant(word: str, known: Iterable[str]) -> str:
    """Give the hint for an unknown word: the one that was meant, else all of them."""
    known = tuple(known)
    near = suggest(word, known)
    return f"did you mean '{near}'?" if near else f"known are: {', '.join(sorted(known))}"
