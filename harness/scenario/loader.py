"""Reads a scenario file: every mistake is told with its place and, where there is one, the word that was meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fakemodel.loading import (
    Document,
    Problem,
    SourceError,
    check,
    described,
    load_file,
    load_text,
    parse_script,
)
from harness.expectations import REGISTRY
from harness.scenario import SUFFIX
from harness.scenario.consistency import (
    IN_A_SESSION,
    meant,
    misnamed_sessions,
    unknown_calls,
    unknown_clauses,
    unknown_gates,
    unknown_guards,
    unknown_invariants,
    unknown_replies,
    unknown_sessions,
)
from harness.scenario.model import MAIN, Check, GuardUse, Head, PathGuard, Scenario, Step
from harness.scenario.reach import not_done_by_run, not_in_the_workspace, not_seen
from harness.scenario.steps import AWAITED, STEPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.expectations.base import Expectation

__all__ = ["GUARDS", "SUFFIX", "load", "loads"]

Place: TypeAlias = tuple[str | int, ...]

GUARDS = {"infinity": "[ANTI-LOOP]", "doom-loop": "[DOOM-LOOP]", "anti-loop": "[DETECTOR "}
"""Our own guards and the text by which each speaks to the model (DESIGN.md, Words)."""

WHOLE = (
    unknown_gates, unknown_guards, unknown_replies, misnamed_sessions, not_done_by_run, not_seen, not_in_the_workspace,
)  # fmt: skip
"""What looks at a scenario whose parts are all right."""

PAGE = "scenarios/README.md shows what may stand here"
"""The hint of a mistake whose finder has no better one."""


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
        reader.problems += unknown_sessions(document, script, steps, checks)
    if head is not None:
        reader.problems += unknown_invariants(document, head.allow)
        reader.problems += unknown_clauses(document, head.proves)
        reader.problems += unknown_calls(document, head, steps)
    if reader.problems or script is None or head is None:
        raise document.error(*reader.problems)
    scenario = Scenario(path, path.name.removesuffix(SUFFIX), head, guards, script, steps, checks, document)
    problems = [problem for look in WHOLE for problem in look(scenario)]
    if problems:
        raise document.error(*problems)
    return scenario


def _check_first_key(document: Document) -> None:
    """Read `format`, which comes first: of a file in another format nothing else can be said."""
    value = document.value
    if not isinstance(value, dict) or next(iter(value), None) != "format":
        hint = "write 'format: 1' as the first line"
        raise document.error(Problem("a scenario file begins with 'format: 1'", document.spans[()], hint))
    if value["format"] != 1 or isinstance(value["format"], bool):
        hint = "write 'format: 1', or install the guardlab that reads this one"
        message = f"this guardlab reads format 1, got {described(value['format'])}"
        raise document.error(Problem(message, document.spans["format",], hint))


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
            self.problems += [problem if problem.hint else replace(problem, hint=PAGE) for problem in error.problems]
            return None

    def items(self, key: str) -> list[Any]:
        """Give the list under a key; anything else has been refused by the head's check."""
        value = self.document.value.get(key)
        return value if isinstance(value, list) else []

    def problem(self, place: Place, message: str, hint: str, *, key: bool = False) -> None:
        spans = self.document.key_spans if key else self.document.spans
        self.problems.append(Problem(message, spans[place], hint))

    # -- guards

    def guards(self, value: Any) -> tuple[GuardUse, ...]:
        if value is None or value == "none":
            return ()
        places: list[Place] = [("guard", i) for i in range(len(value))] if isinstance(value, list) else [("guard",)]
        found: dict[str, GuardUse] = {}
        for place in places:
            guard = self.guard(self.document.at(place), place)
            if guard and guard.name in found:
                # The proof that a guard is loaded goes by its name.
                self.problem(place, f"two guards are called '{guard.name}'", "name one: {path: ..., name: ...}")
            elif guard:
                found[guard.name] = guard
        return tuple(found.values())

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
            if name not in GUARDS or options is None or isinstance(options, dict):
                return self.known_guard(name, options, place)
            message = f"the options of guard {name} are a mapping, got {described(options)}"
            self.problem((*place, name), message, f"write {{{name}: {{option: value}}}}")
            return None
        self.problem(
            place, "a guard is a name, {name: {options}}, {path: ...} or none", "write, for example, guard: infinity"
        )
        return None

    def known_guard(self, name: str, options: dict[str, Any] | None, place: Place) -> GuardUse | None:
        if name in GUARDS:
            return GuardUse(name, options, None, GUARDS[name])
        hint = "'none' stands alone: guard: none" if name == "none" else meant(name, (*GUARDS, "none", "path"))
        self.named(place, name, f"no guard is called '{name}'", hint)
        return None

    # -- steps and expectations

    def steps(self, values: list[Any]) -> Iterator[Step]:
        for index, value in enumerate(values):
            step = self.step(value, ("steps", index), index)
            if step:
                yield step

    def step(self, value: Any, place: Place, index: int) -> Step | None:
        mapping = {value: None} if isinstance(value, str) else value if isinstance(value, dict) else {}
        kinds = [key for key in mapping if key in STEPS]
        if len(kinds) != 1:
            self.wrong_kind(value, place, "step", tuple(STEPS))
            return None
        kind = kinds[0]
        beside = ("session",) if kind in IN_A_SESSION else ()
        for key in mapping.keys() - {kind, *beside}:
            hint = meant(key, beside) if beside else "remove it"
            self.problem((*place, key), f"a {kind} step does not know '{key}'", hint, key=True)
        session = mapping.get("session", MAIN)
        if not isinstance(session, str):
            at = (*place, "session")
            self.problem(at, f"a session is named by text, got {described(session)}", f'quote it: "{session}"')
            return None
        read = self.collect(lambda: STEPS[kind].read(self.awaited, self.document, (*place, kind), mapping[kind]))
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

    def awaited(self, kind: str, place: Place) -> Expectation:
        """Read the expectation that `wait_for` waits for; what it knows besides has been read by then."""
        if kind in REGISTRY:
            return self.expectation(kind, place)
        message = f"wait_for does not know '{kind}'"
        raise self.document.error(Problem(message, self.document.key_spans[place], meant(kind, AWAITED)))

    def expectation(self, kind: str, place: Place) -> Expectation:
        """Read the value of `kind: value`."""
        model = REGISTRY.get(kind)
        if model is None:
            hint = meant(kind, REGISTRY)
            raise self.document.error(
                Problem(f"no expectation is called '{kind}'", self.document.key_spans[place], hint)
            )
        return check(self.document, place, model)

    def wrong_kind(self, value: Any, place: Place, what: str, known: tuple[str, ...]) -> None:
        """Say what is wrong with an entry that is not exactly one known thing."""
        article = "an" if what[0] in "aeiou" else "a"
        words = [value] if isinstance(value, str) else list(value) if isinstance(value, dict) else []
        strange = [word for word in words if word not in (*known, "session")] or words
        if not words:
            found = "an empty mapping" if value == {} else described(value)
            self.problem(place, f"wanted {article} {what}, got {found}", f"known are: {', '.join(sorted(known))}")
        elif strange[0] not in known:
            self.named(place, strange[0], f"no {what} is called '{strange[0]}'", meant(strange[0], known))
        elif len(words) > 1:
            got = " and ".join(words)
            self.problem(place, f"{article} {what} is one thing, got {got}", "make an entry of the list for each")
        else:
            self.problem(place, f"{words[0]} holds a value", f"write it as '{words[0]}: ...'")

    def named(self, place: Place, word: str, message: str, hint: str) -> None:
        """Add a problem with a word that is the value at `place` or a key in it."""
        at = (*place, word)
        inside = at in self.document.key_spans
        self.problem(at if inside else place, message, hint, key=inside)
