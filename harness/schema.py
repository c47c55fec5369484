"""The JSON Schema of a scenario file, made from the models and the registries that the loader reads it with."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias, get_args, get_type_hints

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from fakemodel.grammar import ChildModel, ReplyModel, ScriptModel
from fakemodel.loading import parse_duration
from harness.expectations import REGISTRY
from harness.expectations.base import Range
from harness.expectations.families import FAMILIES
from harness.expectations.moments import MOMENTS
from harness.expectations.order import One
from harness.invariants import INVARIANTS
from harness.scenario.loader import GUARDS
from harness.scenario.model import Head, PathGuard
from harness.scenario.steps import STEPS, WaitFor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

    from harness.expectations.base import Expectation

__all__ = ["scenario_schema"]

Schema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
REFERENCE = "#/$defs/{model}"


def scenario_schema() -> Schema:
    """Give the schema (draft 2020-12) of a whole file.

    It is looser than the loader where a rule is about several keys at once ("'until' needs 'max'"): an editor has it
    for completion and for most mistakes, and the loader stays the judge.
    """
    models: list[type[BaseModel]] = [Head, PathGuard, ReplyModel, ScriptModel, ChildModel]
    models += [*_step_models(), *REGISTRY.values()]
    _, made = models_json_schema(
        [(model, "validation") for model in models], ref_template=REFERENCE, schema_generator=_Generator
    )
    known = made["$defs"]
    root = known.pop(Head.__name__)
    root["properties"] |= {
        "format": {"const": 1},
        "guard": _guard(),
        "script": _script(known),
        "steps": {**root["properties"]["steps"], "items": _step(known)},
        "expect": {**root["properties"]["expect"], "items": _one_of(_expectations(REGISTRY.values()))},
    }
    root["properties"]["allow"]["items"] = {"enum": list(INVARIANTS)}
    _name_moments(known)
    about = {"title": "A guardlab scenario", "description": "scenarios/README.md says what every key means."}
    return {"$schema": DIALECT, **root, **about, "$defs": known}


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, told how a file writes what the models hold."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        """Describe a time by the text that it is read from; the model keeps a number."""
        if schema["schema"]["type"] != "float":
            return super().function_before_schema(schema)
        units = "ms|s|m" if schema["function"]["function"] is parse_duration else "ms|s|m|tokens/s"
        return {"anyOf": [{"const": 0}, {"type": "string", "pattern": rf"^\d+(\.\d+)?\s*({units})$"}]}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Describe the bare value too that stands for one field of the model."""
        made = super().model_schema(schema)
        cls = schema["cls"]
        bare = getattr(cls, "shorthand", None)
        if list(cls.model_fields) == [getattr(cls, "kind", None)]:
            # `files: {a.txt: ...}` names no field: the mapping is the value of the only one.
            return {"description": made["description"], **made["properties"][cls.kind]}
        if bare is None:
            return made
        return {"description": made.pop("description"), "anyOf": [made, made["properties"][bare]]}

    def encode_default(self, dft: Any) -> Any:
        """Write the default of a count as a file would."""
        return str(dft) if isinstance(dft, Range) else super().encode_default(dft)

    def field_title_should_be_set(self, _schema: Any) -> bool:
        """Leave out titles that only say a key's name once more."""
        return False


def _ref(model: type[BaseModel]) -> Schema:
    return {"$ref": REFERENCE.format(model=model.__name__)}


def _one_of(values: Mapping[str, Schema]) -> Schema:
    """Describe a mapping that holds exactly one of these keys."""
    return {
        "type": "object",
        "properties": dict(values),
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }


def _guard() -> Schema:
    options = {"type": ["object", "null"]}
    one = [{"enum": list(GUARDS)}, _ref(PathGuard), _one_of(dict.fromkeys(GUARDS, options))]
    return {"anyOf": [{"enum": ["none", None]}, *one, {"type": "array", "items": {"anyOf": one}}]}


def _script(known: Schema) -> Schema:
    replies = {"type": "array", "minItems": 1, "items": _ref(ReplyModel)}
    known[ChildModel.__name__]["properties"]["replies"] = replies
    beside = known.pop(ScriptModel.__name__)["properties"]
    sessions = {
        "type": "object",
        "minProperties": 1,
        "properties": {**beside, "any_time": replies},
        "patternProperties": {r"^child(\[[1-9]\d*\])?$": {"anyOf": [replies, _ref(ChildModel)]}},
        "additionalProperties": replies,
    }
    return {"anyOf": [replies, sessions]}


def _expectations(families: Iterable[type[Expectation]]) -> Schema:
    return {family.kind: _ref(family) for family in families}


def _name_moments(known: Schema) -> None:
    """Say which words `order` takes, and that each of its expectations stands alone."""
    items = {"anyOf": [{"enum": list(MOMENTS)}, _one_of(_expectations(FAMILIES))]}
    whole, bare = known[REGISTRY["order"].__name__]["anyOf"]
    for moments in (whole["properties"]["moments"], bare):
        moments["items"] = items
    del known[One.__name__]


# -- steps: what reading one gives back says what it may hold


def _held(kind: str) -> Any:
    return get_type_hints(STEPS[kind].read)["return"]


def _step_models() -> list[type[BaseModel]]:
    held = [_held(kind) for kind in STEPS]
    return [model for model in held if issubclass(model, BaseModel)]


def _step(known: Schema) -> Schema:
    words = [kind for kind in STEPS if _held(kind) is NoneType]
    values = {kind: _awaited(known) if _held(kind) is WaitFor else _written(known, _held(kind)) for kind in STEPS}
    del known[WaitFor.__name__]
    mapping = {
        "type": "object",
        "properties": {**values, "session": {"type": "string"}},
        "additionalProperties": False,
        "oneOf": [{"required": [kind]} for kind in STEPS],
    }
    return {"anyOf": [{"enum": words}, mapping]}


def _awaited(known: Schema) -> Schema:
    """Describe what `wait_for` takes: its own things, or any expectation."""
    own = {
        name: _written(known, held)
        for name, field in WaitFor.model_fields.items()
        for held in get_args(field.annotation)
        if held is not NoneType
    }
    return {"anyOf": [{"const": "settled"}, _one_of({**own, **_expectations(REGISTRY.values())})]}


def _written(known: Schema, held: type) -> Schema:
    """Describe what stands in the file for a value; a bare one is a model's first field."""
    if held is NoneType:
        return {"type": "null"}
    if not issubclass(held, BaseModel):
        return {"type": "string", "minLength": 1}
    first = known[held.__name__]["properties"][next(iter(held.model_fields))]
    return {"anyOf": [_ref(held), first]}
