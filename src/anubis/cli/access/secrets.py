"""``anubis secret``: secrets that only the runs of one project get."""

from typing import BinaryIO

import click

from anubis.api.access import to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.errors import BadInputError
from anubis.submission.environment.project_secrets import LONGEST

_PROJECT = click.option(
    "--project",
    envvar="ANUBIS_PROJECT",
    default=DEFAULT_PROJECT,
    show_default=True,
    metavar="NAME",
    help="The project that it belongs to.",
)
_NAME = click.argument("name")


@click.group(cls=ListGroup)
def secret() -> None:
    """Secrets of projects, which descriptors name as secret:NAME.

    Only runs of the project get the values, which are masked in their output. Without a command: list the secrets.
    """


@secret.command("set")
@_NAME
@_PROJECT
@click.option(
    "--file",
    type=click.File("rb"),
    default="-",
    metavar="FILE",
    help="File with the value (default: standard input). A line feed at its end is left out.",
)
@json_option
def set_(*, name: str, project: str, file: BinaryIO, as_json: bool) -> None:
    """Set a secret. The value is read from standard input or a file, because other users can see arguments."""
    content = file.read(LONGEST + 2)
    try:
        value = content.decode()
    except UnicodeDecodeError:
        raise BadInputError(
            f"the value of the secret {name} is not UTF-8", remedy="encode it, for example in Base64"
        ) from None
    with open_client() as client:
        client.access.put_secret(project, name, value.removesuffix("\n").removesuffix("\r"))
    if as_json:
        json_output.show({"project": project, "name": name})
    else:
        terminal.line(f"{name} is set in {project}")


@secret.command("list")
@_PROJECT
@json_option
def list_(*, project: str, as_json: bool) -> None:
    """List the names of the secrets of a project."""
    with open_client() as client:
        found = client.access.secrets(project)
    if as_json:
        json_output.show(list(map(to_json, found)))
        return
    columns = [tables.Column(title=title) for title in ("SECRET", "SET", "BY")]
    tables.show(columns, [(each.name, units.moment(each.changed_s), each.actor) for each in found])


@secret.command()
@_NAME
@_PROJECT
@json_option
def delete(*, name: str, project: str, as_json: bool) -> None:
    """Delete a secret. Runs that wait for their start and need it end with the cause not_permitted."""
    with open_client() as client:
        client.access.remove_secret(project, name)
    if as_json:
        json_output.show({"project": project, "name": name})
    else:
        terminal.line(f"{name} is deleted from {project}")
