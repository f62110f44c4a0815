"""``anubis token``: what commands and programs send to a service to prove who asks."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from anubis.api.access import to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import SPAN, json_option
from anubis.cli.views import json_output, tables, units
from anubis.model.access.roles import EVERY_PROJECT, Role, Token
from anubis.model.errors import ConflictError

if TYPE_CHECKING:
    from anubis.client.protocol.access import NewToken

_PREFIX = click.argument("prefix")
_LASTS = click.option(
    "--lasts",
    type=SPAN,
    default="90d",
    show_default=True,
    metavar="SPAN",
    help="For how long the token is valid, at most 366d.",
)


@click.group(cls=ListGroup)
def token() -> None:
    """Tokens for a service.

    PREFIX is the middle part of a token, which is not secret. Without a command: list the tokens.
    """


@token.command()
@click.argument("user")
@click.option(
    "--project", default=EVERY_PROJECT, show_default=True, help="The only project, or * for all of the user."
)
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.VIEWER.value,
    show_default=True,
    help="Highest role of the token; it never gives more rights than its user has.",
)
@click.option("--about", default="", metavar="TEXT", help="What the token is for.")
@_LASTS
@json_option
def create(*, user: str, project: str, role: str, about: str, lasts: float, as_json: bool) -> None:
    """Create a token and print it. It is not stored and cannot be printed again."""
    with open_client() as client:
        made = client.access.create_token(user, project=project, role=Role(role), about=about, lasts_s=lasts)
    _show_new(made, as_json=as_json)


@token.command()
@click.argument("user")
@_LASTS
@json_option
def admin(*, user: str, lasts: float, as_json: bool) -> None:
    """Make a user an administrator of everything, and print a token: the first one of a service.

    Works only on the machine of the service, on its home folder. A user that does not exist is created.
    """
    with open_client(embedded=True) as client:
        with suppress(ConflictError):
            client.access.create_user(user)
        client.access.grant(EVERY_PROJECT, user, Role.ADMIN)
        made = client.access.create_token(
            user, project=EVERY_PROJECT, role=Role.ADMIN, about="administrator", lasts_s=lasts
        )
    _show_new(made, as_json=as_json)


@token.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the tokens without their secrets."""
    with open_client() as client:
        found = client.access.tokens()
    if as_json:
        json_output.show(list(map(to_json, found)))
        return
    titles = ("TOKEN", "USER", "PROJECT", "ROLE", "STATE", "EXPIRES", "LAST USED", "ABOUT")
    columns = [tables.Column(title=title, cut=title == "ABOUT") for title in titles]
    tables.show(columns, [_row(each) for each in found])


@token.command()
@_PREFIX
@json_option
def show(*, prefix: str, as_json: bool) -> None:
    """Show a token without its secret."""
    with open_client() as client:
        found = client.access.token(prefix)
    _show_one(found, as_json=as_json)


@token.command()
@_PREFIX
@json_option
def revoke(*, prefix: str, as_json: bool) -> None:
    """Refuse a token from now on."""
    with open_client() as client:
        found = client.access.revoke_token(prefix)
    _show_one(found, as_json=as_json)


def _show_new(made: "NewToken", *, as_json: bool) -> None:
    if as_json:
        json_output.show({**to_json(made.token), "text": made.text})
        return
    terminal.line(made.text)
    terminal.note(f"valid until {units.moment(made.token.expires_s)}; it is not shown again")


def _show_one(found: Token, *, as_json: bool) -> None:
    if as_json:
        json_output.show(to_json(found))
        return
    names = ("token", "user", "project", "role", "state", "expires", "last used", "about")
    for line in tables.pairs(list(zip(names, _row(found), strict=True)), width=terminal.width()):
        terminal.line(line)


def _row(found: Token) -> tuple[str, ...]:
    return (
        found.prefix,
        found.user,
        found.project,
        found.role.value,
        found.refusal(time.time()) or "valid",
        units.moment(found.expires_s),
        "" if found.used_s is None else units.moment(found.used_s),
        found.about,
    )
