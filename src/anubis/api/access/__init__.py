"""Users, projects, tokens and decisions as JSON: every field, under its name."""

from dataclasses import fields, is_dataclass
from typing import Any

from anubis.api.json_values import Json
from anubis.model.plain import to_plain


def to_json(value: Any) -> Json:
    """An object of ``anubis.model.access.roles``."""
    return {spec.name: _plain(getattr(value, spec.name)) for spec in fields(value)}


def _plain(value: Any) -> Any:
    return to_json(value) if is_dataclass(value) else to_plain(value)
