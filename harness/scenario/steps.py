"""The steps of a scenario: what each key may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Protocol, get_args

from pydantic import Field, model_validator

from fakemodel.loading import Document, Path, Problem, StrictModel, check, described
from harness.expectations import REGISTRY
from harness.expectations.base import Expectation
from harness.expectations.permissions import Reply
from harness.scenario.consistency import meant

__all__ = ["AWAITED", "STEPS", "ApiCall", "Matcher", "PermissionAsked", "PermissionReply", "StepKind", "WaitFor"]

Matcher = Callable[[str, Path], Expectation]
REPLIES: tuple[str, ...] = get_args(Reply)


class ApiCall(StrictModel):
    """An API call of a guard by its name (`session.status`), made so many `times`."""

    call: str
    times: Annotated[int, Field(ge=1)] = 1


class PermissionAsked(StrictModel):
    """A permission that OpenCode asks for, by its action (`bash`, `edit`, `doom_loop`)."""

    action: str


class PermissionReply(StrictModel):
    """The user's answer to the oldest waiting request, or to that of one action."""

    reply: Reply
    action: str | None = None
    message: str | None = None


class WaitFor(StrictModel):
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


AWAITED = (
    *(name for name in WaitFor.model_fields if name != "expectation"),
    *(kind for kind, family in REGISTRY.items() if not family.late),
)
"""Every word that a `wait_for` may hold."""


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
            message = f"{place[-1]} holds nothing, got {described(value)}"
            raise document.error(Problem(message, _span(document, place), f"write '- {place[-1]}'"))


class _Permission:
    """`permission: always`, or `{reply: reject, action: bash, message: ...}`."""

    def read(self, _matcher: Matcher, document: Document, place: Path, value: Any) -> PermissionReply:
        if isinstance(value, dict):
            return check(document, place, PermissionReply)
        if value in REPLIES:
            return PermissionReply(reply=value)
        message = f"a permission is answered with {', '.join(REPLIES)}; got {described(value)}"
        hint = meant(value, REPLIES) if isinstance(value, str) else "write, for example, permission: once"
        raise document.error(Problem(message, _span(document, place), hint))


class _WaitFor:
    """`wait_for: settled`, or a mapping with gate, api_call, permission, idle or any expectation."""

    own: Mapping[str, type[StrictModel]] = {"api_call": ApiCall, "permission": PermissionAsked}

    def read(self, matcher: Matcher, document: Document, place: Path, value: Any) -> WaitFor:
        if value == "settled":
            return WaitFor(settled=True)
        if not isinstance(value, dict) or len(value) != 1:
            message = "wait_for wants 'settled' or one of gate, api_call, permission, idle or an expectation"
            raise document.error(Problem(message, _span(document, place), _awaited_hint(value)))
        ((kind, inner),) = value.items()
        if kind == "settled":
            hint = "write 'wait_for: settled'"
            raise document.error(Problem("settled holds nothing", document.key_spans[*place, kind], hint))
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


def _awaited_hint(value: Any) -> str:
    if isinstance(value, dict) and value:
        return "make a wait_for step for each"
    if not isinstance(value, str):
        return "write, for example, wait_for: settled"
    return f"write it as 'wait_for: {{{value}: ...}}'" if value in AWAITED else meant(value, AWAITED)


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
