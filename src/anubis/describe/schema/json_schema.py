"""The JSON Schema of 1.0 descriptors, generated from the model; editors use it for completion and help."""

import typing
from enum import Enum
from typing import Any

from anubis.describe import examples
from anubis.describe.check.limits import KEY_LIMITS, LIMITS, Limit
from anubis.describe.defaults import CURRENT, DEFAULTS
from anubis.describe.fields import Field, all_fields, docs, members, section_of
from anubis.describe.matrix.axes import FIXED, SEEDS
from anubis.describe.paths import shown
from anubis.model.descriptor import Descriptor, Matrix
from anubis.model.plain import to_plain

Schema = dict[str, Any]

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}
#: Required in new files, although the model has a default for old files.
_REQUIRED = {"output.metrics[].units", "server.output.metrics[].units"}
#: Required by the model, but not in new files: pattern -> default.
_OPTIONAL = {"hardware": None, **{shown(path): value for path, value in DEFAULTS.items()}}
_PERCENT = {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*%\s*$"}
#: Shorthand forms accepted besides the form of the model (``shorthand.py``).
_FORMS: dict[str, list[Schema]] = {
    "output.metrics[].threshold.change": [_PERCENT],
    "output.metrics[].threshold.min_effect": [_PERCENT],
    "server.output.metrics[].threshold.change": [_PERCENT],
    "server.output.metrics[].threshold.min_effect": [_PERCENT],
    "hardware.distributed.processes_per_instance": [{"type": "integer", "minimum": 1}],
    "measure.warmups": [{"const": "auto"}],
    "server.env.readiness_probe": [{"type": "string", "pattern": "^(https?://|/)"}],
    "server.env.liveness_probe": [{"type": "string", "pattern": "^(https?://|/)"}],
}
_MD5: Schema = {
    "type": "string",
    "pattern": "^[0-9a-fA-F]{32}$",
    "description": "MD5 of the bytes: a short form of digest.",
}


def json_schema() -> Schema:
    """JSON Schema (draft 2020-12) of a descriptor of version 1.0; closed: unknown keys are errors."""
    schema = _section(Descriptor, "")
    schema["properties"]["spec_version"] = {
        "const": CURRENT,
        "default": CURRENT,
        "description": docs(Descriptor)["spec_version"],
    }
    name: Schema = {"type": "string", "minLength": 1}
    schema["properties"]["extends"] = {
        "description": "Files on which this one is based, relative to it; later ones replace values of earlier ones.",
        "anyOf": [name, {"type": "array", "items": name}],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:anubis:descriptor:1.0",
        "title": "Anubis descriptor 1.0",
        "description": "A benchmark. Files of the old system (0.1.0) are not covered: upgrade them.",
        **schema,
    }


def _section(section: type, prefix: str) -> Schema:
    if section is Matrix:
        return _matrix()
    properties: Schema = {}
    required = []
    for member in members(section).values():
        pattern = prefix + member.name
        properties[member.name] = {
            "description": docs(section)[member.name],
            **_field(member, pattern),
        }
        if is_required(member, pattern):
            required.append(member.name)
    if "digest" in properties:
        properties["md5"] = _MD5
    schema: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return {**schema, "required": required} if required else schema


def is_required(member: Field, pattern: str) -> bool:
    """Whether a new file must have the field."""
    return (member.required and pattern not in _OPTIONAL) or pattern in _REQUIRED


def default_of(member: Field, pattern: str) -> Any:
    """The value if a new file does not have the field; None for a section or without a default."""
    return _OPTIONAL.get(pattern, member.default)


def _field(member: Field, pattern: str) -> Schema:
    schema = _kind(member.kind, pattern)
    if pattern in _FORMS:
        schema = {"anyOf": [schema, *_FORMS[pattern]]}
    default = default_of(member, pattern)
    if default is not None and section_of(member.kind) is None and default not in ((), {}, ""):
        schema["default"] = to_plain(default)
    example = examples.EXAMPLES.get(pattern)
    return schema if example is None else {**schema, "examples": [example]}


def _kind(kind: Any, pattern: str) -> Schema:
    origin = typing.get_origin(kind)
    if origin is tuple:
        return {"type": "array", "items": _kind(typing.get_args(kind)[0], f"{pattern}[]")}
    if origin is dict:
        table: Schema = {"type": "object"}
        if pattern in KEY_LIMITS:
            table["propertyNames"] = {"pattern": f"^{KEY_LIMITS[pattern].pattern}$"}
        if typing.get_args(kind)[1] is not Any:
            table["additionalProperties"] = _kind(typing.get_args(kind)[1], f"{pattern}.*")
        return table
    if kind is Any:
        return {}
    if (section := section_of(kind)) is not None:
        return _section(section, f"{pattern}.")
    if issubclass(kind, Enum):
        return {"type": "string", "enum": [member.value for member in kind]}
    return {"type": _TYPES[kind], **_limit(LIMITS.get(pattern), kind)}


def _limit(limit: Limit | None, kind: type) -> Schema:
    if limit is None:
        return {}
    words: Schema = {
        "minimum": limit.minimum,
        "exclusiveMinimum": limit.above,
        "maximum": limit.maximum,
        "maxLength": limit.longest,
        "pattern": None if limit.pattern is None or kind is not str else f"^(?:{limit.pattern})$",
    }
    return {word: value for word, value in words.items() if value is not None}


def _matrix() -> Schema:
    numbers = {"from": {"type": "number"}, "to": {"type": "number"}}
    axis: Schema = {
        "anyOf": [
            {"type": "array", "minItems": 1},
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {**numbers, "step": {"type": "number"}},
                "required": ["from", "to", "step"],
            },
            {
                "type": "object",
                "additionalProperties": False,
                "properties": {**numbers, "times": {"type": "number", "exclusiveMinimum": 1}},
                "required": ["from", "to", "times"],
            },
        ]
    }
    lists = {
        name: {
            "type": "array",
            "items": {"type": "object", "minProperties": 1},
            "description": docs(Matrix)[name],
        }
        for name in ("exclude", "include")
    }
    seeds = {SEEDS: {"description": "The axis of the variable SEED.", **axis}}
    paths = {
        found.pattern: {"description": docs(found.owner)[found.name], **axis}
        for found in all_fields()
        if section_of(found.kind) is None
        and "[" not in found.pattern
        and found.pattern.split(".")[0] not in FIXED
    }
    return {
        "type": "object",
        "properties": {**paths, **seeds, **lists},
        "additionalProperties": axis,
    }
