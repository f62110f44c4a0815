"""Users, projects, tokens and decisions as JSON: every field, under its name."""

from dataclasses import fields
from typing import Any

from anubis.api.json_values import Json
from anubis.model.plain import to_plain


def to_json(value: Any) -> Json:
    """An object of ``anubis.model.access.roles``."""
    return {spec.name: to_plain(getattr(value, spec.name)) for spec in fields(value)}
