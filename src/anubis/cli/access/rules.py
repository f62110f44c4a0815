"""``anubis project permit``, ``forbid`` and ``quota``: what the runs of a project may use."""

from dataclasses import replace
from typing import Any

import click

from anubis.api.access import to_json
from anubis.cli import terminal
from anubis.cli.access import rules_view
from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.views import json_output
from anubis.model.access.roles import Project

_PROJECT = click.argument("project")
_NONE = "none"


class Limit(click.ParamType[int | float | str]):
    """A number of at least 1, or ``none``."""

    name = "N"

    def __init__(self, kind: type[int] | type[float]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == _NONE:
            return value
        try:
            number = self._kind(value)
        except (TypeError, ValueError):
            number = 0
        if not 1 <= number <= 1 << 60:
            self.fail(f"{value} is neither a number of at least 1 nor none", param, ctx)
        return number


@click.command()
@_PROJECT
@click.argument("names", nargs=-1, required=True)
@json_option
def permit(*, project: str, names: tuple[str, ...], as_json: bool) -> None:
    """Permit runs of a project to use something.

    NAMES are privileged, network, unsandboxed, host-files, secrets, engine:PATTERN and image:PATTERN.
    """
    with open_client() as client:
        found = client.access.change_permits(project, permit=names)
    _show(found, as_json=as_json)


@click.command()
@_PROJECT
@click.argument("names", nargs=-1, required=True)
@json_option
def forbid(*, project: str, names: tuple[str, ...], as_json: bool) -> None:
    """Forbid runs of a project to use something.

    NAMES are those of permit. Runs that wait and use it end with the cause not_permitted; others continue.
    """
    with open_client() as client:
        found = client.access.change_permits(project, forbid=names)
    _show(found, as_json=as_json)


@click.command()
@_PROJECT
@click.option("--running", type=Limit(int), help="Runs in progress at the same time.")
@click.option("--waiting", type=Limit(int), help="Runs that wait for their start.")
@click.option("--per-day", type=Limit(int), help="Runs that are submitted on one day (UTC).")
@click.option("--record-bytes", type=Limit(int), help="Bytes of the records of final runs.")
@click.option(
    "--run-time", "run_s", type=Limit(float), metavar="S", help="Largest limits.run_timeout_s, seconds."
)
@json_option
def quota(*, project: str, as_json: bool, **given: float | str | None) -> None:
    """Set limits of a project. Without options: show them.

    A limit that is not named remains; none removes it.
    """
    named = {name: None if value == _NONE else value for name, value in given.items() if value is not None}
    with open_client() as client:
        found = client.access.project(project)
        if named:
            changes: Any = named
            found = client.access.put_quota(project, replace(found.quota, **changes))
    if as_json:
        json_output.show(to_json(found))
    else:
        terminal.line(rules_view.limits(found.quota) or f"{found.name} has no quota")


def _show(project: Project, *, as_json: bool) -> None:
    if as_json:
        json_output.show(to_json(project))
    else:
        rules_view.show(project)
