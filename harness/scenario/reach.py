"""What a scenario asks for and can never see or do: under `opencode run`, under a server, before the run is over."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from fakemodel.loading import Problem
from harness.expectations.files import Files
from harness.expectations.moments import MOMENTS
from harness.expectations.order import Order
from harness.scenario.consistency import every_expectation, is_child, moments_at
from harness.scenario.model import EXCLUDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from harness.expectations.base import Expectation, Need
    from harness.scenario.consistency import Place
    from harness.scenario.model import Scenario

__all__ = ["not_done_by_run", "not_in_the_workspace", "not_seen"]

REMEDIES: Mapping[str, str] = {
    "serve": "use serve (leave 'via' out)",
    "run": "say opencode: {via: run}",
}
"""How to get to the way of running OpenCode that something needs."""


def not_done_by_run(scenario: Scenario) -> Iterator[Problem]:
    """Find what `opencode run` has no way to do."""
    document = scenario.document
    if scenario.head.opencode.via != "run":
        return
    if scenario.head.opencode.api:
        # Seen: there a plugin's client calls OpenCode inside the process, and nothing passes through fetch.
        yield Problem(
            "opencode run shows no API call of a guard, so none can be spoiled",
            document.key_spans["opencode", "api"],
            f"{REMEDIES['serve']}, where every call can be spoiled",
        )
    for step in scenario.steps:
        if step.kind != "prompt":
            message = f"opencode run knows no {step.kind}; it runs prompts only"
            yield Problem(message, step.span, f"{REMEDIES['serve']}, which takes every step")


def not_seen(scenario: Scenario) -> Iterator[Problem]:
    """Find expectations that nothing could fulfil, or break: where it is never seen, an absence always passes."""
    via = scenario.head.opencode.via
    for place, one in every_expectation(scenario.document, scenario.steps, scenario.checks):
        awaited = place[0] == "steps"
        if awaited and one.late:
            span = scenario.document.key_spans[place]
            yield Problem(
                f"no step can wait for {one.kind}: it is known when the run is over", span, "write it under 'expect'"
            )
        elif not (awaited and via == "run"):  # the step itself has been refused
            yield from _needs(scenario, place, one)


def _needs(scenario: Scenario, place: Place, one: Expectation) -> Iterator[Problem]:
    document, via = scenario.document, scenario.head.opencode.via
    about = one.sessions() or scenario.script.sessions.keys()
    needs = one.needs or (one.child_needs if any(map(is_child, about)) else None)
    found: list[tuple[str, Place, Need | None]] = [(one.kind, place, needs)]
    if isinstance(one, Order):
        words = [(index, word) for index, word in enumerate(one.moments) if isinstance(word, str)]
        found += [(word, (*moments_at(document, place), index), MOMENTS[word].needs) for index, word in words]
    for name, at, need in found:
        if need and need.via != via:
            span = document.key_spans.get(at) or document.spans[at]
            yield Problem(f"'{name}' is never seen under {via}: {need.because}", span, REMEDIES[need.via])


def not_in_the_workspace(scenario: Scenario) -> Iterator[Problem]:
    """Find files that no look at the workspace finds: 'absent' would always pass."""
    document = scenario.document
    for place, one in every_expectation(document, scenario.steps, scenario.checks):
        if isinstance(one, Files):
            if not one.files:
                yield Problem("files names no file", document.spans[place], "name one: {files: {a.txt: unchanged}}")
            for name in one.files:
                hint = _why_not_found(name)
                if hint:
                    message = f"the workspace can have no file '{name}'"
                    yield Problem(message, document.key_spans[*place, name], hint)


def _why_not_found(name: str) -> str | None:
    path = PurePosixPath(name)
    if PureWindowsPath(name).anchor or ".." in PureWindowsPath(name).parts:
        return "write the path from the workspace's root, without '..'"
    if "\\" in name or name != path.as_posix() or not path.parts:
        return "write it as git does, with '/' between its parts: src/app.py"
    if any(path.is_relative_to(internal) for internal in (".git", *EXCLUDED)):
        return "this is guardlab's own or OpenCode's; it is not looked at"
    return None
