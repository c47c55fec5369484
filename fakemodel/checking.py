"""Checks values of a document with pydantic models and says in YAML words, and at the right place, what is wrong."""

from __future__ import annotations

import difflib
import json
import math
import re
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from fakemodel.source import Document, Path, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_core import ErrorDetails

__all__ = ["Seconds", "StrictModel", "check", "described", "parse_duration", "suggest", "wrong"]

ModelT = TypeVar("ModelT", bound=BaseModel)

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dataclass_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "none_required": "nothing",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "string_too_short": "text that is not empty",
    "too_short": "a list of at least {min_length}",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "string_pattern_mismatch": "text of the form {pattern}",
}

_WRITTEN = {
    "text": "write some text",
    "text that is not empty": "write some text",
    "a whole number": "a whole number is written 3",
    "a number": "a number is written 3 or 0.5",
    "true or false": "write true or false",
    "a mapping": "a mapping is written {key: value}, or as lines of 'key: value'",
    "a list": "a list is written [a, b], or as lines that begin with '- '",
    "a list of at least 1": "a list is written [a, b], or as lines that begin with '- '",
}


class StrictModel(BaseModel):
    """The base for models of YAML: no conversion between types, unknown keys are errors, values stay as they are."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def wrong(message: str, hint: str | None = None, *, key: str | None = None) -> PydanticCustomError:
    """Return an error for a validator to raise; ``check`` shows its message and hint as they are.

    ``key`` puts the place at that key of the mapping that the validator looks at.
    """
    return PydanticCustomError("wrong", "{message}", {"message": message, "hint": hint, "key": key})


def parse_duration(value: object) -> float:
    """Turn ``5ms``, ``1.5s`` or ``2m`` into seconds; 0 needs no unit. Raises an error that says what is wanted."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value.strip())
        if match:
            return float(match[1]) * _UNIT_SECONDS[match[2]]
    if value == 0 and not isinstance(value, bool):
        return 0.0
    number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    hint = f"with a unit: {value}ms or {value}s" if number else "the units are ms, s and m"
    raise wrong(f"wanted a duration such as 5ms, 1.5s or 2m, got {described(value)}", hint)


Seconds = Annotated[float, BeforeValidator(parse_duration)]
"""A duration in a model: read from text such as ``26s``, kept as seconds."""


def suggest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word that is most like ``word``, or None when none is near."""
    matches = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def described(value: object) -> str:
    """Say in YAML words what a value is: ``a number (12)``, ``text ('no')``, ``a list``, ``nothing``."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"a number ({value})"
    if isinstance(value, str):
        return f"text ({value!r})" if len(value) <= 40 else f"text ({value[:37]!r}...)"
    empty = "" if value else "n empty"
    return f"a{empty} mapping" if isinstance(value, dict) else f"a{empty} list"


def check(document: Document, path: Path, model: type[ModelT], *, keys: Iterable[str] | None = None) -> ModelT:
    """Return the value at ``path`` as an instance of ``model``, which is strict; tuples are read from lists.

    With ``keys`` only these keys of a mapping are looked at. Raises SourceError with every problem at its
    place: an unknown key at the key, with the nearest known one; a missing key at the mapping that lacks it;
    a wrong type as what was wanted and what was found.
    """
    value = document.at(path)
    if keys is not None:
        value = {key: value[key] for key in keys}
    useless = [document.spans[place] for place in _not_finite(value, path)]
    if useless:
        message, hint = "an infinite number or NaN has no use here", "write a finite number, or quote it"
        raise document.error(*(Problem(message, span, hint) for span in useless))
    try:
        # JSON mode reads tuples from lists, which strict models refuse otherwise: YAML has no other sequence.
        return model.model_validate_json(json.dumps(value))
    except ValidationError as error:
        raise document.error(*_problems(document, path, model, error)) from None


def _not_finite(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _not_finite(item, (*path, key))
    elif isinstance(value, float) and not math.isfinite(value):
        yield path


def _problems(document: Document, path: Path, model: type[BaseModel], error: ValidationError) -> list[Problem]:
    """Translate pydantic's errors; those of several alternatives for one value become one problem."""
    wanted: dict[Path, list[str]] = {}
    problems: dict[Path, Problem] = {}
    for detail in error.errors(include_url=False):
        place, rest = _place(document, path, detail["loc"])
        kind = detail["type"]
        if kind == "missing":
            name = str(detail["loc"][-1])
            hint = f"add '{name}: ...'"
            problems[*place, name] = Problem(f"the key '{name}' is missing", document.spans[place], hint)
        elif kind == "extra_forbidden":
            problems[place] = _unknown_key(document, place, _fields(model, detail["loc"][:-1]))
        elif kind in _WANTED:
            text = _WANTED[kind].format(**detail.get("ctx", {})).replace("True", "true")
            wanted.setdefault(place, []).extend([] if text in wanted.get(place, []) else [text])
        else:
            problems.setdefault(place, _said(document, place, detail, rest))
    for place, texts in wanted.items():
        # An alternative that got further into the value says more than one that refused it as a whole.
        if not any(len(other) > len(place) and other[: len(place)] == place for other in (*problems, *wanted)):
            problems.setdefault(place, _mismatch(document, place, texts))
    return list(problems.values())


def _place(document: Document, path: Path, loc: tuple[str | int, ...]) -> tuple[Path, tuple[str | int, ...]]:
    """Follow pydantic's location through the document; steps that name no key (tags of alternatives) are skipped."""
    place = path
    skipped: list[str | int] = []
    for step in loc:
        if (*place, step) in document.spans:
            place = (*place, step)
        else:
            skipped.append(step)
    return place, tuple(skipped)


def _unknown_key(document: Document, place: Path, known: Iterable[str]) -> Problem:
    key = str(place[-1])
    names = sorted(known)
    near = suggest(key, names)
    hint = f"did you mean '{near}'?" if near else f"known keys: {', '.join(names)}" if names else None
    return Problem(f"unknown key '{key}'", document.key_spans[place], hint)


def _mismatch(document: Document, place: Path, texts: list[str]) -> Problem:
    value = document.at(place)
    few = isinstance(value, list) and value and texts[0].startswith("a list of")
    message = f"wanted {' or '.join(texts)}, got {f'a list of {len(value)}' if few else described(value)}"
    span = document.spans[place]
    if "text" in texts and isinstance(value, bool | int | float):
        source = document.text.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1]
        return Problem(message, span, f'quote it: "{source}"')
    choices = re.findall(r"'([^']*)'", " ".join(texts))
    near = suggest(value, choices) if isinstance(value, str) else None
    if near or choices:
        return Problem(message, span, f"did you mean '{near}'?" if near else f"known: {', '.join(choices)}")
    return Problem(
        message, span, next((_WRITTEN[text] for text in texts if text in _WRITTEN), f"give a value that is {texts[0]}")
    )


def _said(document: Document, place: Path, detail: ErrorDetails, rest: tuple[str | int, ...]) -> Problem:
    context = detail.get("ctx", {})
    message = str(context.get("error", context.get("message", detail["msg"])))
    key = document.key_spans.get((*place, context["key"])) if context.get("key") else None
    if rest == ("[key]",):
        key = document.key_spans.get(place)
    return Problem(message, key or document.spans[place], context.get("hint"))


def _fields(model: type[BaseModel], loc: tuple[str | int, ...]) -> set[str]:
    """Return the keys that the model at ``loc`` knows, by walking the annotations of ``model``."""
    models = {model}
    for step in loc:
        inner: set[type[BaseModel]] = set()
        for known in models:
            for name, field in known.model_fields.items():
                if step in (name, field.alias):
                    inner |= _models_in(field.annotation)
        models = inner or models
    return {field.alias or name for known in models for name, field in known.model_fields.items()}


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    return {model for argument in getattr(annotation, "__args__", ()) for model in _models_in(argument)}
