"""``anubis user``: who uses a service."""

import click

from anubis.api.access import to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units
from anubis.model.access.roles import User

_NAME = click.argument("name")
_GROUP = click.argument("group")


@click.group(cls=ListGroup)
def user() -> None:
    """Users of a service, and their groups.

    Works on the home folder, and with a registered service as its administrator. Without a command: list the users.
    """


@user.command()
@_NAME
@json_option
def create(*, name: str, as_json: bool) -> None:
    """Create a user. It has no rights before "anubis project grant"."""
    with open_client() as client:
        _show_one(client.access.create_user(name), as_json=as_json)


@user.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the users."""
    with open_client() as client:
        found = client.access.users()
    if as_json:
        json_output.show(list(map(to_json, found)))
        return
    columns = [tables.Column(title=title) for title in ("USER", "GROUPS", "CREATED", "DISABLED")]
    tables.show(columns, [_row(each) for each in found])


@user.command()
@_NAME
@json_option
def show(*, name: str, as_json: bool) -> None:
    """Show a user."""
    with open_client() as client:
        _show_one(client.access.user(name), as_json=as_json)


@user.command()
@_NAME
@json_option
def disable(*, name: str, as_json: bool) -> None:
    """Refuse all tokens of a user from now on."""
    with open_client() as client:
        _show_one(client.access.put_disabled(name, disabled=True), as_json=as_json)


@user.command()
@_NAME
@json_option
def enable(*, name: str, as_json: bool) -> None:
    """Accept the valid tokens of a disabled user again."""
    with open_client() as client:
        _show_one(client.access.put_disabled(name, disabled=False), as_json=as_json)


@user.command()
@_NAME
@_GROUP
@json_option
def join(*, name: str, group: str, as_json: bool) -> None:
    """Add a user to a group, which exists while it has users."""
    with open_client() as client:
        _show_one(client.access.put_in_group(name, group, inside=True), as_json=as_json)


@user.command()
@_NAME
@_GROUP
@json_option
def leave(*, name: str, group: str, as_json: bool) -> None:
    """Remove a user from a group."""
    with open_client() as client:
        _show_one(client.access.put_in_group(name, group, inside=False), as_json=as_json)


def _show_one(found: User, *, as_json: bool) -> None:
    if as_json:
        json_output.show(to_json(found))
        return
    rows = list(zip(("user", "groups", "created", "disabled"), _row(found), strict=True))
    for line in tables.pairs(rows, width=terminal.width()):
        terminal.line(line)


def _row(found: User) -> tuple[str, str, str, str]:
    disabled = "" if found.disabled_s is None else units.moment(found.disabled_s)
    return found.name, " ".join(found.groups), units.moment(found.created_s), disabled
