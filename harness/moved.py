"""Asks an OpenCode of any version whether the facts still hold that the harness and the guards are built on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import GuardlabError, NotLoadedError
from harness.evidence import ERROR_LEVEL
from harness.invariants import SESSION_ERROR_LINE, STREAM_ERROR
from harness.loaded import LOG_SECONDS
from harness.scenario.loader import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.lab import Lab
    from harness.report.run import Run
    from harness.scene import Scene

__all__ = ["Fact", "examine_facts"]

FACTS = Path(str(files("harness"))) / "facts"
# These hold when their plugin is refused with this error, in the words that the loaded proof looks for.
REFUSED = {"load-errors": "boom at import", "init-errors": "boom at init"}
# This one holds when each of these stands in a line of OpenCode's log; the invariant `error_log` reads errors by them.
LOGGED = "log-lines"
FORMS = (SESSION_ERROR_LINE, STREAM_ERROR)


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact and whether it holds.

    Fields: `name` its file below harness/facts; `title` the fact; `holds`; `report` what was seen instead, as a failed
    scenario tells it.
    """

    name: str
    title: str
    holds: bool
    report: str


def examine_facts(lab: Lab) -> Iterator[Fact]:
    """Play one small scenario a fact. Raises what `Lab` raises when OpenCode cannot be had at all."""
    for path in sorted(FACTS.glob("*.yaml")):
        yield _examine(lab, path)


def _examine(lab: Lab, path: Path) -> Fact:
    scenario = load(path, shown_as=f"harness/facts/{path.name}")
    missing: list[str] = []
    run = lab.play(scenario, hold=(lambda scene: missing.extend(_unlogged(scene))) if path.stem == LOGGED else None)
    if path.stem in REFUSED:
        said = "" if _refused(run, REFUSED[path.stem]) else run.report() or "its plugin was loaded\n"
    else:
        said = run.report() + "".join(f"no line of the log has {ERROR_LEVEL} and {form.strip()}\n" for form in missing)
    return Fact(path.stem, scenario.head.title, not said, said)


def _refused(run: Run, why: str) -> bool:
    return isinstance(run.error, NotLoadedError) and why in run.error.message


def _unlogged(scene: Scene) -> list[str]:
    """Give the forms that no line of the log has, though OpenCode was given time to write it."""

    def missing() -> list[str]:
        errors = [line for line in scene.log.lines() if ERROR_LEVEL in line]
        return [form for form in FORMS if not any(form in line for line in errors)]

    with suppress(GuardlabError):
        scene.timeline.wait(lambda: not missing(), LOG_SECONDS, lambda: "OpenCode's log")
    return missing()
