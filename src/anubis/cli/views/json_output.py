"""Prints JSON values on standard output, for scripts."""

import json
from collections.abc import Iterable
from typing import Any

import click

from anubis.api.json_values import finite


def show(value: Any) -> None:
    """Print one JSON value, indented."""
    click.echo(json.dumps(finite(value), indent=2, ensure_ascii=False))


def show_list(values: Iterable[Any]) -> None:
    """Print a JSON array with one element a line, as it comes."""
    first = True
    for value in values:
        click.echo(("[\n" if first else ",\n") + json.dumps(finite(value), ensure_ascii=False), nl=False)
        first = False
    click.echo("[]" if first else "\n]")
