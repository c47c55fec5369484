"""Reads a scenario file: every mistake is told with its place and, where there is one, the word that was meant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from fakemodel.loading import Document, Problem, SourceError, check, load_file, load_text, parse_script, suggest
from harness.expectations import REGISTRY
from harness.invariants import INVARIANTS
from harness.scenario.model import MAIN, Check, GuardUse, Head, PathGuard, Scenario, Step
from harness.scenario.steps import STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemodel.script import Script
    from harness.expectations.base import Expectation

__all__ = ["GUARDS", "SUFFIX", "load", "loads"]

SUFFIX = ".scenario.yaml"
Place: TypeAlias = tuple[str | int, ...]

GUARDS = {"infinity": "[ANTI-LOOP]", "doom-loop": "[DOOM-LOOP]", "anti-loop": "[DETECTOR "}
"""Our own guards and the text by which each speaks to the model (DESIGN.md, Words)."""


def load(path: Path, *, shown_as: str | None = None) -> Scenario:
    """Read a scenario file. `shown_as` is the name that errors carry. Raises SourceError with every problem found."""
    return _scenario(path, load_file(path, shown_as=shown_as))


def loads(text: str, path: Path) -> Scenario:
    """Read a scenario from text, as if it stood in `path`. Raises SourceError."""
    return _scenario(path, load_text(text, str(path)))


def _scenario(path: Path, document: Document) -> Scenario:
    _check_first_key(document)
    reader = _Reader(document, path)
    head = reader.collect(lambda: check(document, (), Head))
    # What the head's check refuses is looked at all the same: one reading tells every mistake.
    guards = reader.guards(document.value.get("guard"))
    script = reader.collect(lambda: parse_script(document, ("script",))) if "script" in document.value else None
    steps = tuple(reader.steps(reader.items("steps")))
    checks = tuple(reader.checks(reader.items("expect")))
    if script is not None:
        reader.check_sessions(script, steps, checks)
    if head is not None:
        reader.check_allow(head.allow)
    if reader.problems or script is None or head is None:
        raise document.error(*reader.problems)
    scenario = Scenario(path, path.name.removesuffix(SUFFIX), head, guards, script, steps, checks, document)
    reader.check_program(scenario)
    if reader.problems:
        raise document.error(*reader.problems)
    return scenario


def _check_first_key(document: Document) -> None:
    """`format` comes first, so that a reader of another format can say so before anything else."""
    value = document.value
    if not isinstance(value, dict) or next(iter(value), None) != "format":
        raise document.error(
            Problem(
                "a scenario file begins with 'format: 1'", document.spans[()], "write 'format: 1' as the first line"
            )
        )


class _Reader:
    """Collects the problems of the parts, so that one run of the loader tells them all."""

    def __init__(self, document: Document, path: Path) -> None:
        self.document = document
        self.path = path
        self.problems: list[Problem] = []

    def collect(self, read: Any) -> Any:
        """Run a part's reader; its problems are kept and None is returned."""
        try:
            return read()
        except SourceError as error:
            self.problems.extend(error.problems)
            return None

    def items(self, key: str) -> list[Any]:
        """Give the list under a key; anything else has been refused by the head's check."""
        value = self.document.value.get(key)
        return value if isinstance(value, list) else []

    def problem(self, place: Place, message: str, hint: str | None = None, *, key: bool = False) -> None:
        spans = self.document.key_spans if key else self.document.spans
        self.problems.append(Problem(message, spans[place], hint))

    # -- guards

    def guards(self, value: Any) -> tuple[GuardUse, ...]:
        if value is None or value == "none":
            return ()
        many = value if isinstance(value, list) else [value]
        places: list[Place] = [("guard", i) for i in range(len(many))] if isinstance(value, list) else [("guard",)]
        found = [self.guard(one, place) for one, place in zip(many, places, strict=True)]
        return tuple(guard for guard in found if guard)

    def guard(self, value: Any, place: Place) -> GuardUse | None:
        if isinstance(value, str):
            return self.known_guard(value, None, place)
        if isinstance(value, dict) and "path" in value:
            given = self.collect(lambda: check(self.document, place, PathGuard))
            return given and GuardUse(
                given.name or Path(given.path).name, given.options, self.path.parent / given.path, given.marker
            )
        if isinstance(value, dict) and len(value) == 1:
            ((name, options),) = value.items()
            if options is not None and not isinstance(options, dict):
                self.problem((*place, name), f"the options of guard {name} are a mapping, got {options!r}")
                return None
            return self.known_guard(name, options, place)
        self.problem(
            place, "a guard is a name, {name: {options}}, {path: ...} or none", "write, for example, guard: infinity"
        )
        return None

    def known_guard(self, name: str, options: dict[str, Any] | None, place: Place) -> GuardUse | None:
        if name in GUARDS:
            return GuardUse(name, options, None, GUARDS[name])
        self.problem(
            place,
            f"no guard is called '{name}'; known are {', '.join(GUARDS)}",
            _meant(name, (*GUARDS, "none", "path")),
        )
        return None

    # -- steps and expectations

    def steps(self, values: list[Any]) -> Iterator[Step]:
        for index, value in enumerate(values):
            place: Place = ("steps", index)
            step = self.step({value: None} if isinstance(value, str) else value, place, index)
            if step:
                yield step

    def step(self, value: Any, place: Place, index: int) -> Step | None:
        kinds = [key for key in value if key in STEPS] if isinstance(value, dict) else []
        if len(kinds) != 1:
            self.wrong_kind(value, place, "step", tuple(STEPS))
            return None
        kind = kinds[0]
        session = value.get("session", MAIN)
        extra = [key for key in value if key not in (kind, "session")]
        for key in extra:
            self.problem((*place, key), f"a {kind} step does not know '{key}'", _meant(key, ("session",)), key=True)
        if not isinstance(session, str):
            self.problem((*place, "session"), "a session is named by text")
            return None
        read = self.collect(lambda: STEPS[kind].read(self.expectation, self.document, (*place, kind), value[kind]))
        spans = self.document.key_spans
        return Step(kind, index, spans.get((*place, kind)) or self.document.spans[place], session, read)

    def checks(self, values: list[Any]) -> Iterator[Check]:
        for index, value in enumerate(values):
            place: Place = ("expect", index)
            if not isinstance(value, dict) or len(value) != 1:
                self.wrong_kind(value, place, "expectation", tuple(REGISTRY))
                continue
            (kind,) = value
            expectation = self.collect(lambda kind=kind, place=place: self.expectation(kind, (*place, kind)))
            if expectation:
                yield Check(index, self.document.key_spans[*place, kind], expectation)

    def expectation(self, kind: str, place: Place) -> Expectation:
        """Read `kind: value` where value is a mapping of fields or the one that the kind's shorthand names."""
        model = REGISTRY.get(kind)
        if model is None:
            hint = _meant(kind, REGISTRY)
            raise self.document.error(
                Problem(f"no expectation is called '{kind}'", self.document.key_spans[place], hint)
            )
        value = self.document.at(place)
        if isinstance(value, dict) or model.shorthand is None:
            return check(self.document, place, model)
        try:
            return model.model_validate({model.shorthand: value})
        except ValidationError as error:
            text = error.errors()[0]["msg"].removeprefix("Value error, ")
            raise self.document.error(Problem(f"{kind}: {text}", self.document.spans[place])) from None

    def wrong_kind(self, value: Any, place: Place, what: str, known: tuple[str, ...]) -> None:
        article = "an" if what[0] in "aeiou" else "a"
        words = list(value) if isinstance(value, dict) else [value]
        word = next((word for word in words if word not in known), words[0] if words else "")
        if isinstance(value, dict) and word in known:
            self.problem(
                place, f"{article} {what} has one of the keys {', '.join(known)}; got {', '.join(map(str, words))}"
            )
            return
        at = (*place, word) if isinstance(value, dict) and value else place
        self.problem(at, f"no {what} is called '{word}'", _meant(str(word), known), key=at != place)

    # -- what only the whole file shows

    def check_sessions(self, script: Script, steps: tuple[Step, ...], checks: tuple[Check, ...]) -> None:
        """Refuse a session that nobody scripts: it would only be seen as an unscripted request."""
        known = {MAIN, *script.sessions, *(str(step.value) for step in steps if step.kind == "new_session")}
        for step in steps:
            if step.session not in known:
                self.problem(
                    ("steps", step.index, "session"),
                    f"no session is called '{step.session}'",
                    _meant(step.session, known),
                )
        for one in checks:
            for name in sorted(one.expectation.sessions() - known):
                place = ("expect", one.index, one.expectation.kind, "session")
                at = place if place in self.document.spans else place[:-1]
                self.problem(at, f"no session is called '{name}'", _meant(name, known))

    def check_program(self, scenario: Scenario) -> None:
        """Refuse gates that nothing holds at, and steps that `opencode run` has no way to do."""
        gates = scenario.model_gates | scenario.api_gates
        if scenario.head.opencode.via == "run" and scenario.head.opencode.api:
            # Seen: there a plugin's client calls OpenCode inside the process, and nothing passes through fetch.
            hint = "use serve (leave 'via' out), where every call can be spoiled"
            self.problem(
                ("opencode", "api"), "opencode run shows no API call of a guard, so none can be spoiled", hint, key=True
            )
        for step in scenario.steps:
            place: Place = ("steps", step.index, step.kind)
            gate = step.value if step.kind == "release" else step.kind == "wait_for" and step.value.gate
            if gate and gate not in gates:
                self.problem(place, f"nothing holds at a gate called '{gate}'", _meant(gate, gates))
            if scenario.head.opencode.via == "run" and step.kind != "prompt":
                at = place if place in self.document.key_spans else place[:-1]
                self.problem(at, f"opencode run knows no {step.kind}; it runs prompts only", key=at == place)

    def check_allow(self, allow: tuple[str, ...]) -> None:
        for index, name in enumerate(allow):
            if name not in INVARIANTS:
                self.problem(("allow", index), f"no invariant is called '{name}'", _meant(name, INVARIANTS))


def _meant(word: str, known: Any) -> str:
    """Give the hint for an unknown word: the one that was meant, else all of them."""
    near = suggest(word, known)
    return f"did you mean '{near}'?" if near else f"known are: {', '.join(sorted(map(str, known)))}"
