"""Prints JSON values on standard output, for scripts."""

import json
from collections.abc import Iterable
from typing import Any

from anubis.api.json_values import finite
from anubis.cli import terminal
from anubis.reporting.markup import visible_json


def show(value: Any) -> None:
    """Print one JSON value, indented."""
    terminal.line(visible_json(json.dumps(finite(value), indent=2, ensure_ascii=False)))


def show_list(values: Iterable[Any]) -> None:
    """Print a JSON array with one element a line, as it comes."""
    first = True
    for value in values:
        text = visible_json(json.dumps(finite(value), ensure_ascii=False))
        terminal.line(("[\n" if first else ",\n") + text, nl=False)
        first = False
    terminal.line("[]" if first else "\n]")
