"""The steps of a scenario: what each key may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field, model_validator

from fakemodel.loading import Document, Path, Problem, check
from harness.expectations.base import Expectation
from harness.scenario.model import Value

__all__ = ["STEPS", "ApiCall", "Matcher", "PermissionAsked", "PermissionReply", "StepKind", "WaitFor"]

Matcher = Callable[[str, Path], Expectation]


class ApiCall(Value):
    """An API call of a guard by its name (`session.status`), made so many `times`."""

    call: str
    times: Annotated[int, Field(ge=1)] = 1


class PermissionAsked(Value):
    """A permission that OpenCode asks for, by its action (`bash`, `edit`, `doom_loop`)."""

    action: str


class PermissionReply(Value):
    """The user's answer to the oldest waiting request, or to that of one action."""

    reply: Literal["once", "always", "reject"]
    action: str | None = None
    message: str | None = None


class WaitFor(Value):
    """What a `wait_for` step waits for; exactly one field is set."""

    settled: bool = False
    gate: str | None = None
    api_call: ApiCall | None = None
    permission: PermissionAsked | None = None
    idle: str | None = None
    expectation: Any = None

    @model_validator(mode="after")
    def _one(self) -> WaitFor:
        if len(self.model_fields_set) != 1:
            raise ValueError("a wait_for step waits for exactly one thing")
        return self


class StepKind(Protocol):
    """One kind of step: `read` turns what stands in the file into the step's value, or raises SourceError."""

    def read(self, matcher: Matcher, document: Document, place: Path, value: Any) -> Any:
        """Read the value at `place`."""


class _Text:
    """A step that holds text: a prompt, a gate, a session's name."""

    def __init__(self, what: str) -> None:
        self.what = what

    def read(self, _matcher: Matcher, document: Document, place: Path, value: Any) -> str:
        if not isinstance(value, str) or not value:
            raise document.error(Problem(f"{place[-1]} wants {self.what} as text", _span(document, place)))
        return value


class _Nothing:
    """A step that is only a word."""

    def read(self, _matcher: Matcher, document: Document, place: Path, value: Any) -> None:
        if value is not None:
            raise document.error(Problem(f"{place[-1]} holds nothing, got {value!r}", _span(document, place)))


class _Permission:
    """`permission: always`, or `{reply: reject, action: bash, message: ...}`."""

    def read(self, _matcher: Matcher, document: Document, place: Path, value: Any) -> PermissionReply:
        if isinstance(value, dict):
            return check(document, place, PermissionReply)
        if value in ("once", "always", "reject"):
            return PermissionReply(reply=value)
        raise document.error(
            Problem(f"a permission is answered with once, always or reject; got {value!r}", _span(document, place))
        )


class _WaitFor:
    """`wait_for: settled`, or a mapping with gate, api_call, permission, idle or any expectation."""

    own: Mapping[str, type[Value]] = {"api_call": ApiCall, "permission": PermissionAsked}

    def read(self, matcher: Matcher, document: Document, place: Path, value: Any) -> WaitFor:
        if value == "settled":
            return WaitFor(settled=True)
        if not isinstance(value, dict) or len(value) != 1:
            raise document.error(
                Problem(
                    "wait_for wants 'settled' or one of gate, api_call, permission, idle or an expectation",
                    _span(document, place),
                )
            )
        ((kind, inner),) = value.items()
        if kind in ("gate", "idle"):
            text = _Text(f"the name of a {'gate' if kind == 'gate' else 'session'}")
            return WaitFor.model_validate({kind: text.read(matcher, document, (*place, kind), inner)})
        if kind == "api_call" and isinstance(inner, str):
            return WaitFor(api_call=ApiCall(call=inner))
        if kind == "permission" and isinstance(inner, str):
            return WaitFor(permission=PermissionAsked(action=inner))
        if kind in self.own:
            return WaitFor.model_validate({kind: check(document, (*place, kind), self.own[kind])})
        return WaitFor(expectation=matcher(kind, (*place, kind)))


def _span(document: Document, place: Path) -> Any:
    return document.spans.get(place) or document.spans[place[:-1]]


STEPS: Mapping[str, StepKind] = {
    "prompt": _Text("what the user says"),
    "send": _Text("what the user says"),
    "wait_for": _WaitFor(),
    "release": _Text("the name of a gate"),
    "permission": _Permission(),
    "abort": _Nothing(),
    "new_session": _Text("the name of a session"),
    "delete_session": _Text("the name of a session"),
    "restart": _Nothing(),
    "kill": _Nothing(),
}
