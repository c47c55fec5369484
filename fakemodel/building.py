"""Makes the values of script.py out of the checked models of grammar.py."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fakemodel.checking import wrong
from fakemodel.grammar import UntilModel, WhenModel
from fakemodel.script import (
    Call,
    Chunking,
    Gate,
    Part,
    Prose,
    Reply,
    Say,
    ScheduledFault,
    Think,
    Until,
    Usage,
    Vary,
    When,
)

if TYPE_CHECKING:
    from fakemodel.faults import FaultModel
    from fakemodel.grammar import GateModel, ProseModel, ReplyModel, VaryModel
    from fakemodel.source import Span

__all__ = ["reply_from"]

_JOINS = {"space": " ", "newline": "\n", "blank line": "\n\n", "nothing": ""}
_PLAIN_WORD = re.compile(r"[\w@+=:,./-]+", re.ASCII)
_UNEQUAL = re.compile(r'["$`\\%!\n]')


def reply_from(model: ReplyModel, span: Span) -> Reply:
    """Return the reply; raises an error of ``wrong`` for what only the values together can show."""
    rotate = tuple(_call(call) for call in model.rotate or ())
    reply = Reply(
        parts=_parts(model),
        rotate=rotate,
        times=model.max or model.times or len(rotate) or 1,
        until=None if model.until is None else _until(model.until),
        optional=model.optional,
        when=None if model.when is None else _when(model.when),
        vary=_vary(model.vary),
        chunks=Chunking() if model.chunks is None else Chunking(model.chunks.size, model.chunks.by),
        pace=model.pace,
        first_chunk_delay=model.first_chunk_delay,
        max_chunks=model.max_chunks,
        wire=None if model.wire is None else model.wire.bytes,
        finish=model.finish,
        usage=Usage(**model.usage.model_dump()),
        elapsed=model.elapsed,
        faults=tuple(_fault(fault) for fault in model.faults),
        gate=_gate(model.gate),
        name=model.name,
        span=span,
    )
    for vary in [model.vary, *(part.vary for part in model.parts or ())]:
        _check_gaps(vary, reply)
    return reply


def _parts(model: ReplyModel) -> tuple[Part, ...]:
    if model.parts is not None:
        return tuple(part for entry in model.parts for part in _prose_parts(entry))
    return (*_prose_parts(model), *(_call(call) for call in model.calls or ()))


def _prose_parts(model: ProseModel) -> list[Part]:
    """Return think, say and call, in this order; ``repeat`` is about what is said, or thought when nothing is said."""
    parts: list[Part] = []
    if model.think is not None:
        parts.append(Think(_prose(model.think, model, repeated=model.say is None)))
    if model.say is not None:
        parts.append(Say(_prose(model.say, model, repeated=True)))
    if model.call is not None:
        parts.append(_call(model.call))
    return parts


def _prose(text: str | tuple[str, ...], model: ProseModel, *, repeated: bool) -> Prose:
    if not repeated:
        return Prose(_sentences(text), _JOINS[model.join])
    repeat = None if model.repeat == "forever" else model.repeat
    return Prose(_sentences(text), _JOINS[model.join], repeat, _vary(model.vary))


def _sentences(text: str | tuple[str, ...]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else text


def _vary(model: VaryModel | None) -> Vary | None:
    if model is None:
        return None
    return Vary(model.counter, model.items, tuple(_sentences(text) for text in model.reworded), model.growing)


def _check_gaps(vary: VaryModel | None, reply: Reply) -> None:
    """Refuse a counter or a list that no text has a place for: it would change nothing."""
    for used, gap, key in (
        (vary and vary.counter is not None, "{n}", "counter"),
        (vary and vary.items, "{item}", "items"),
    ):
        if used and gap not in repr((reply.parts, reply.rotate)):
            message = f"'vary: {key}' needs {gap} in a text of the reply"
            raise wrong(message, f"write {gap} where it belongs")


def _call(model: dict[str, Any]) -> Call:
    ((tool, arguments),) = model.items()
    if isinstance(arguments, tuple):
        return Call("bash", {"command": " ".join(_quoted(word) for word in arguments)})
    return Call(tool, arguments)


def _quoted(word: str) -> str:
    """Quote a word so that bash, cmd and PowerShell read the same; what they cannot read alike is an error."""
    if _PLAIN_WORD.fullmatch(word):
        return word
    if _UNEQUAL.search(word):
        message = f"the word {word!r} means different things in bash, cmd and PowerShell"
        raise wrong(message, "write call: {bash: {command: ...}} instead")
    return f'"{word}"'


def _when(model: WhenModel) -> When:
    return When(**model.model_dump(include=set(WhenModel.model_fields)))


def _until(model: UntilModel) -> Until:
    conditions = model.model_fields_set & WhenModel.model_fields.keys()
    return Until(model.blocked, _when(model) if conditions else None)


def _gate(model: str | GateModel | None) -> Gate | None:
    if model is None or isinstance(model, str):
        return None if model is None else Gate(model)
    return Gate(model.name, model.at)


def _fault(model: FaultModel) -> ScheduledFault:
    name, fault = model.chosen
    if model.request is not None:
        return ScheduledFault(name, fault, request=model.request)
    return ScheduledFault(name, fault, None if model.first == "forever" else model.first or 1)
