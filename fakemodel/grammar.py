"""The YAML form of a script as pydantic models; loading.py turns them into the values of script.py."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from fakemodel.checking import Seconds, StrictModel, described, parse_duration, wrong
from fakemodel.faults import FaultModel
from fakemodel.script import DEFAULT_PACE, Finish

if TYPE_CHECKING:
    from typing import Self

__all__ = ["ChildModel", "PartModel", "ReplyModel", "ScriptModel", "Sentences", "UntilModel", "VaryModel", "WhenModel"]

Text: TypeAlias = Annotated[str, Field(min_length=1)]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Tokens: TypeAlias = Annotated[int, Field(ge=0)]
PointModel: TypeAlias = Literal["start", "middle", "end"] | Count
Sentences: TypeAlias = Text | Annotated[tuple[Text, ...], Field(min_length=1)]
Arguments: TypeAlias = dict[str, Any]

_TOKENS = re.compile(r"(\d+(?:\.\d+)?)\s*tokens/s")


def _one_call(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) != 1:
        raise wrong(f"a call names one tool, got {len(value)}", "write several calls as a list under 'calls'")
    ((tool, arguments),) = value.items()
    if isinstance(arguments, tuple) and tool != "run":
        raise wrong(f"the arguments of {tool} are a mapping, got a list", "only 'run' takes a list of words")
    return value


CallModel: TypeAlias = Annotated[dict[str, Arguments | tuple[Text, ...]], AfterValidator(_one_call)]
Calls: TypeAlias = Annotated[tuple[CallModel, ...], Field(min_length=1)]


def _pace(value: object) -> float:
    match = _TOKENS.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None and isinstance(value, str) and "token" in value:
        raise wrong(f"wanted a pace such as 5ms or 50 tokens/s, got {described(value)}", "write 50 tokens/s")
    if match is None:
        return parse_duration(value)
    if not float(match[1]):
        raise wrong(f"wanted a pace above 0 tokens/s, got {described(value)}", "pace: 0 sends as fast as it can")
    return 1 / float(match[1])


class WhenModel(StrictModel):
    """Conditions on a request."""

    user_says: Text | None = None
    tool_result: Text | None = None
    tool_results: Tokens | None = None
    system_says: Text | None = None
    header: dict[str, str] = Field(default_factory=dict)
    last_stream: Literal["client", "script", "fault", "killed"] | None = None
    guard_says: Text | None = None

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_fields_set:
            raise wrong("a condition is missing", f"known conditions: {', '.join(sorted(type(self).model_fields))}")
        return self


class UntilModel(WhenModel):
    """What ends a repeated reply."""

    blocked: Count | None = None


class VaryModel(StrictModel):
    """How repetitions differ."""

    counter: Annotated[int, Field(ge=0)] | None = None
    items: Annotated[tuple[Text, ...], Field(min_length=1)] = ()
    reworded: Annotated[tuple[Sentences, ...], Field(min_length=1)] = ()
    growing: str = ""

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if not self.model_fields_set:
            raise wrong("nothing varies", "known ways: counter, items, reworded, growing")
        return self


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
    at: PointModel = "start"


class UsageModel(StrictModel):
    """Reported tokens."""

    input: Tokens = 10
    output: Tokens = 10
    reasoning: Tokens = 0
    cached: Tokens = 0

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.cached > self.input or self.reasoning > self.output:
            hint = "'input' includes 'cached' and 'output' includes 'reasoning'"
            raise wrong("a part of the tokens is greater than the whole", hint)
        return self


class ProseModel(StrictModel):
    """What is said, thought or called, and how prose is repeated."""

    think: Sentences | None = None
    say: Sentences | None = None
    call: CallModel | None = None
    repeat: Literal["forever"] | Count = 1
    join: Literal["space", "newline", "blank line", "nothing"] = "space"
    vary: VaryModel | None = None

    @model_validator(mode="after")
    def _prose_has_text(self) -> Self:
        silent = self.think is None and self.say is None
        for key in ("repeat", "join"):
            if silent and key in self.model_fields_set and getattr(self, "parts", None) is None:
                raise wrong(f"'{key}' is about 'say' or 'think'", "'times' repeats a reply with calls", key=key)
        if silent and self.vary is not None and (self.vary.reworded or self.vary.growing):
            raise wrong("calls vary by 'counter' and 'items' alone", "put {n} or {item} into the arguments", key="vary")
        return self


class PartModel(ProseModel):
    """One entry of ``parts``."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(value is not None for value in (self.think, self.say, self.call)) != 1:
            raise wrong("a part is one of think, say or call", "make an entry of the list for each of them")
        return self


class ReplyModel(ProseModel):
    """One reply."""

    calls: Calls | None = None
    rotate: Calls | None = None
    parts: Annotated[tuple[PartModel, ...], Field(min_length=1)] | None = None
    times: Count | None = None
    until: UntilModel | None = None
    max: Count | None = None
    optional: bool = False
    when: WhenModel | None = None
    chunks: ChunksModel | None = None
    wire: WireModel | None = None
    pace: Annotated[float, BeforeValidator(_pace)] = DEFAULT_PACE
    first_chunk_delay: Seconds = 0.0
    max_chunks: Count | None = None
    finish: Finish | None = None
    usage: UsageModel = UsageModel()
    elapsed: Seconds = 0.0
    fault: FaultModel | Annotated[tuple[FaultModel, ...], Field(min_length=1)] | None = None
    gate: Text | GateModel | None = None
    name: Text | None = None

    @property
    def faults(self) -> tuple[FaultModel, ...]:
        """The faults as a list."""
        return () if self.fault is None else (self.fault,) if isinstance(self.fault, FaultModel) else self.fault

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        given = [key for key in ("think", "say", "call", "calls", "rotate", "parts") if getattr(self, key) is not None]
        if not given:
            raise wrong("a reply answers nothing", "it needs one of say, think, call, calls, rotate or parts")
        for alone in ("rotate", "parts"):
            if alone in given and len(given) > 1:
                other = next(key for key in given if key != alone)
                raise wrong(f"'{alone}' cannot stand beside '{other}'", "make two replies of it", key=alone)
        if "call" in given and "calls" in given:
            raise wrong("'call' cannot stand beside 'calls'", "write all calls under 'calls'", key="call")
        if self.parts is not None:
            for key in self.model_fields_set & {"repeat", "join", "vary"}:
                raise wrong(f"'{key}' belongs to one of the parts", f"move '{key}' into an entry of 'parts'", key=key)
        return self

    @model_validator(mode="after")
    def _times_fit(self) -> Self:
        if self.until is not None and self.max is None:
            raise wrong(
                "'until' needs 'max', the greatest number of requests that it answers", "add max: 10", key="until"
            )
        if self.until is None and self.max is not None:
            raise wrong("'max' means something only beside 'until'", "'times' is the number of requests", key="max")
        if self.until is not None and self.times is not None:
            raise wrong("'times' cannot stand beside 'until'", "'max' bounds a reply with 'until'", key="times")
        return self

    @model_validator(mode="after")
    def _endless_fits(self) -> Self:
        parts = self.parts or (self,)
        endless = [part for part in parts if part.repeat == "forever"]
        if not endless:
            return self
        if endless[0] is not parts[-1] or self.call is not None or self.calls is not None:
            raise wrong(
                "nothing can follow a part that is repeated forever", "repeat: 1000 comes to an end", key="repeat"
            )
        if self.max_chunks is not None:
            return self
        if self.pace == 0:
            raise wrong(
                "'repeat: forever' without a pace needs 'max_chunks'", "a pace such as 5ms, or max_chunks: 1000"
            )
        points = [("fault", fault.chosen[1].point) for fault in self.faults]
        points += [("gate", self.gate.at)] if isinstance(self.gate, GateModel) else []
        for key, point in points:
            if point in ("middle", "end"):
                raise wrong(f"a reply that never ends has no {point}", "give the number of a chunk", key=key)
        return self


class ChildModel(StrictModel):
    """A session script with the prompt that picks it; its replies are read one by one."""

    prompt: Text
    replies: Any


class ScriptModel(StrictModel):
    """What stands beside the sessions in a script; the replies under ``any_time`` are read one by one."""

    any_time: Any = None
    title: Text | None = None
    compaction: Text | None = None
    allow_unused: tuple[Text, ...] = ()
    allow_extra: tuple[Text, ...] = ()
