"""What a scenario file may say, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from fakemodel.loading import Document, Seconds, Span, StrictModel, wrong

if TYPE_CHECKING:
    from pathlib import Path

    from fakemodel.script import Script
    from harness.expectations.base import Expectation

Texts = Annotated[tuple[str, ...], Field(strict=False)]  # a list in YAML; its members stay strict

__all__ = ["ApiFault", "Check", "GuardUse", "Head", "OpenCode", "PathGuard", "Scenario", "Step", "Workspace"]

System = Literal["posix", "linux", "macos", "windows", "wsl"]
Protocol = Literal["openai_chat", "openai_chat_whole", "openai_responses", "anthropic_messages", "google_generate"]
MAIN = "main"
EXCLUDED = ("opencode.json", ".opencode/node_modules", ".opencode/package-lock.json")
"""What lies in a workspace and is not the user's; git does not see it, and no look at the files finds it."""


class Workspace(StrictModel):
    """The files that the scenario's user has: `files` are committed, `changes` are written after the commit."""

    files: dict[str, str] = Field(default_factory=dict)
    changes: dict[str, str] = Field(default_factory=dict)


FAULTS = ("delay", "gate", "status", "hang", "throw", "busy")


class ApiFault(StrictModel):
    """What the probe does to a guard's API calls of one name (`session.abort`, `session.status`, ...).

    Exactly one of: `delay` (seconds before the call), `gate` (hold until the step `release`), `status` (an HTTP status
    of its own), `hang` (never answer), `throw` (a network error), `busy` (a status answer in which no session is ever
    idle). `first: N` spoils the first N calls, `nth: N` the Nth only. `forward: true` lets the call happen and spoils
    the answer.
    """

    delay: Annotated[Seconds, Field(gt=0)] | None = None
    gate: Annotated[str, Field(min_length=1)] | None = None
    status: Annotated[int, Field(ge=400, le=599)] | None = None
    hang: bool = False
    throw: bool = False
    busy: bool = False
    forward: bool = False
    first: Annotated[int, Field(ge=1)] | None = None
    nth: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _does_one_thing(self) -> ApiFault:
        given = [kind for kind in FAULTS if getattr(self, kind)]
        if len(given) != 1:
            raise wrong(
                f"a fault is one thing, got {' and '.join(given) or 'none'}", f"choose one of {', '.join(FAULTS)}"
            )
        if self.first and self.nth:
            raise wrong("'first' and 'nth' exclude each other", "keep one of them", key="nth")
        return self


class OpenCode(StrictModel):
    """How OpenCode runs.

    Fields: `config` joins opencode.json; `env` its environment; `api` spoils guards' calls; `via` a server or one
    `opencode run` a prompt; `protocol` what the provider speaks.
    """

    config: dict[str, Any] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    api: dict[str, ApiFault] = Field(default_factory=dict)
    via: Literal["serve", "run"] = "serve"
    protocol: Protocol = "openai_chat"


class PathGuard(StrictModel):
    """A guard by its path, as its user loads it: `marker` is the text by which it speaks to the model."""

    path: str
    options: dict[str, Any] | None = None
    marker: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class GuardUse:
    """One guard of the scenario.

    Fields: `name` as expectations call it; `options` OpenCode hands to it; `path` for a guard that is not ours
    (relative to the scenario file); `marker` the text by which it speaks to the model, None when unknown.
    """

    name: str
    options: dict[str, Any] | None = None
    path: Path | None = None
    marker: str | None = None


def _format(value: int) -> int:
    if value != 1:
        raise ValueError(f"wanted format 1, got {value}; this guardlab reads format 1 only")
    return value


class Head(StrictModel):
    """The keys of a scenario file as pydantic checks them; lists of one-key mappings are looked at one by one later."""

    format: Annotated[int, AfterValidator(_format)]
    title: Annotated[str, Field(min_length=1)]
    proves: Texts = ()
    guard: Any = None
    workspace: Workspace = Workspace()
    opencode: OpenCode = OpenCode()
    script: Any
    steps: list[Any] = Field(min_length=1)
    expect: list[Any] = Field(default_factory=list)
    isolation: Literal["shared", "process"] = "shared"
    allow: Texts = ()
    quiet: Seconds | None = None
    step_timeout: Annotated[Seconds, Field(gt=0)] | None = None
    systems: Annotated[tuple[System, ...], Field(strict=False)] = ()
    tags: Texts = ()
    source: Any = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a scenario.

    Fields: `kind` its key; `session` the session that it is about; `value` what the key holds (text, a matcher's
    `Expectation`, a mapping, or nothing); `index` from 0; `span` where it stands.
    """

    kind: str
    index: int
    span: Span
    session: str = MAIN
    value: Any = None


@dataclass(frozen=True, slots=True)
class Check:
    """One line under `expect`, with its place."""

    index: int
    span: Span
    expectation: Expectation


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario file, read whole. `name` is its path without the suffix, in the project's own words of a test id."""

    path: Path
    name: str
    head: Head
    guards: tuple[GuardUse, ...]
    script: Script
    steps: tuple[Step, ...]
    checks: tuple[Check, ...]
    document: Document

    @property
    def claims_absence(self) -> bool:
        """Whether a check passes because something was not seen: such a run is over after a full second of quiet."""
        return any(check.expectation.claims_absence() for check in self.checks)

    @property
    def model_gates(self) -> frozenset[str]:
        """The gates at which a stream holds."""
        return frozenset(reply.gate.name for reply in self.script.replies if reply.gate)

    @property
    def api_gates(self) -> frozenset[str]:
        """The gates at which an API call of a guard holds."""
        return frozenset(fault.gate for fault in self.head.opencode.api.values() if fault.gate)

    @property
    def isolated(self) -> bool:
        """Whether it wants a process of its own: asked for, a moved clock, an environment, `run` or a kill."""
        return (
            self.head.isolation == "process"
            or self.head.opencode.via == "run"
            or bool(self.head.opencode.env)
            or any(step.kind in ("kill", "restart") for step in self.steps)
            or any(reply.elapsed for reply in self.script.replies)
        )
