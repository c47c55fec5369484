"""The YAML form of a script as pydantic models; loading.py turns them into the values of script.py."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from fakemodel.checking import Seconds, StrictModel, described, parse_duration, wrong

__all__ = ["ChildModel", "PartModel", "ReplyModel", "WhenModel"]

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Count: TypeAlias = Annotated[int, Field(ge=1)]
PositionModel: TypeAlias = Literal["start", "middle", "end"] | Count
Sentences: TypeAlias = Text | Annotated[tuple[Text, ...], Field(min_length=1)]
Arguments: TypeAlias = dict[str, Any]

_TOKENS = re.compile(r"(\d+(?:\.\d+)?)\s*tokens/s")


def _one_call(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) != 1:
        raise wrong(f"a call names one tool, got {len(value)}", "write several calls as a list under 'calls'")
    return value


CallModel: TypeAlias = Annotated[dict[str, Arguments | tuple[Text, ...]], AfterValidator(_one_call)]


def _pace(value: object) -> float:
    match = _TOKENS.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return parse_duration(value)
    if not float(match[1]):
        raise wrong(f"wanted a pace above 0 tokens/s, got {described(value)}")
    return 1 / float(match[1])


class WhenModel(StrictModel):
    """Conditions on a request."""

    user_says: Text | None = None
    tool_result: Text | None = None
    tool_results: Annotated[int, Field(ge=0)] | None = None
    system_says: Text | None = None
    header: dict[str, str] = {}
    last_stream: Literal["client", "script", "fault", "killed"] | None = None
    guard_says: Text | None = None

    @model_validator(mode="after")
    def _not_empty(self) -> WhenModel:
        if not self.model_fields_set:
            raise wrong("a condition is missing", f"known conditions: {', '.join(sorted(type(self).model_fields))}")
        return self


class UntilModel(WhenModel):
    """What ends a repeated reply."""

    blocked: Count | None = None


class ChunksModel(StrictModel):
    """How text is cut."""

    size: Count = 1
    by: Literal["characters", "words", "sentences", "utf16"] = "characters"


class WireModel(StrictModel):
    """How socket writes are cut."""

    bytes: Count


class GateModel(StrictModel):
    """A gate with its point."""

    name: Text
    at: PositionModel = "start"


class UsageModel(StrictModel):
    """Reported tokens."""

    input: Annotated[int, Field(ge=0)] = 10
    output: Annotated[int, Field(ge=0)] = 10
    reasoning: Annotated[int, Field(ge=0)] = 0
    cached: Annotated[int, Field(ge=0)] = 0


class ProseModel(StrictModel):
    """What is said, thought or called, and how prose is repeated."""

    think: Sentences | None = None
    say: Sentences | None = None
    call: CallModel | None = None
    repeat: Literal["forever"] | Count = 1
    join: Literal["space", "newline", "blank line", "nothing"] = "space"


class PartModel(ProseModel):
    """One entry of ``parts``."""

    @model_validator(mode="after")
    def _one_kind(self) -> PartModel:
        if sum(value is not None for value in (self.think, self.say, self.call)) != 1:
            raise wrong("a part is one of think, say or call")
        return self


class ReplyModel(ProseModel):
    """One reply."""

    calls: Annotated[tuple[CallModel, ...], Field(min_length=1)] | None = None
    rotate: Annotated[tuple[CallModel, ...], Field(min_length=1)] | None = None
    parts: Annotated[tuple[PartModel, ...], Field(min_length=1)] | None = None
    times: Count | None = None
    until: UntilModel | None = None
    max: Count | None = None
    optional: bool = False
    when: WhenModel | None = None
    chunks: ChunksModel | None = None
    wire: WireModel | None = None
    pace: Annotated[float, BeforeValidator(_pace)] = 0.005
    first_chunk_delay: Seconds = 0.0
    max_chunks: Count | None = None
    finish: Literal["stop", "tool_calls", "length", "content_filter", "unknown", "none"] | None = None
    usage: UsageModel = UsageModel()
    elapsed: Seconds = 0.0
    gate: Text | GateModel | None = None
    name: Text | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> ReplyModel:
        given = [key for key in ("think", "say", "call", "calls", "rotate", "parts") if getattr(self, key) is not None]
        if not given:
            raise wrong("a reply answers nothing", "it needs one of say, think, call, calls, rotate or parts")
        for alone in ("rotate", "parts"):
            if alone in given and len(given) > 1:
                raise wrong(f"'{alone}' cannot stand beside '{next(key for key in given if key != alone)}'")
        if "call" in given and "calls" in given:
            raise wrong("'call' cannot stand beside 'calls'", "write all calls under 'calls'")
        self._check_repetition()
        return self

    def _check_repetition(self) -> None:
        if self.until is not None and self.max is None:
            raise wrong("'until' needs 'max', the greatest number of requests that the reply answers", "add max: 10")
        if self.max is not None and self.until is None:
            raise wrong("'max' has a meaning only beside 'until'", "'times' is the number of requests that the reply answers")
        if self.until is not None and self.times is not None:
            raise wrong("'times' cannot stand beside 'until'", "'max' bounds a reply with 'until'")
        parts = self.parts or (self,)
        endless = [part for part in parts if part.repeat == "forever"]
        if endless and self.max_chunks is None and self.pace == 0:
            raise wrong("'repeat: forever' without a pace needs 'max_chunks'", "give a pace such as 5ms, or max_chunks: 1000")
        if endless and (endless[0] is not parts[-1] or self.call is not None or self.calls is not None):
            raise wrong("nothing can follow a part that is repeated forever")


class ChildModel(StrictModel):
    """A session script with the prompt that picks it; its replies are read one by one."""

    prompt: Text
    replies: list[Any]
