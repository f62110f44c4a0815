"""Reading descriptors: TOML text to a Descriptor, old spellings, sweeps, the JSON Schema and the reference page.

Modules are imported on first use, because the libraries of the reader slow down short commands.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anubis.describe.check.schedules import due_after, due_times
    from anubis.describe.defaults import CURRENT
    from anubis.describe.inheritance import Composed, compose
    from anubis.describe.matrix.cells import Cell, cells
    from anubis.describe.origins import ResolvedValue, located, resolved, resolved_text
    from anubis.describe.reading import Reading, changed, read
    from anubis.describe.schema.json_schema import json_schema
    from anubis.describe.schema.reference import reference_markdown
    from anubis.describe.upgrading import upgrade

__all__ = [
    "CURRENT",
    "Cell",
    "Composed",
    "Reading",
    "ResolvedValue",
    "cells",
    "changed",
    "compose",
    "due_after",
    "due_times",
    "json_schema",
    "located",
    "read",
    "reference_markdown",
    "resolved",
    "resolved_text",
    "upgrade",
]

_MODULES = {
    "CURRENT": "defaults",
    "Cell": "matrix.cells",
    "Composed": "inheritance",
    "Reading": "reading",
    "ResolvedValue": "origins",
    "cells": "matrix.cells",
    "changed": "reading",
    "compose": "inheritance",
    "due_after": "check.schedules",
    "due_times": "check.schedules",
    "json_schema": "schema.json_schema",
    "located": "origins",
    "read": "reading",
    "reference_markdown": "schema.reference",
    "resolved": "origins",
    "resolved_text": "origins",
    "upgrade": "upgrading",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
