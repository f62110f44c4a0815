"""``anubis register``, ``unregister``, ``ping`` and ``whoami``: which service the commands use."""

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

import click

from anubis.cli import exit_codes, terminal
from anubis.cli.params import json_option
from anubis.cli.views import json_output, units
from anubis.late import late
from anubis.model.access.roles import EVERY_PROJECT, Principal
from anubis.model.access.tokens import parts_of
from anubis.model.errors import BadInputError, NotFoundError
from anubis.settings import Settings
from anubis.submission.person import keep_name, person

if TYPE_CHECKING:
    from anubis.client import registration
    from anubis.client.remote import access, connection
else:  # --help does not need them
    registration = late("anubis.client.registration")
    access = late("anubis.client.remote.access")
    connection = late("anubis.client.remote.connection")

#: More characters than a token has.
_LONGEST_TOKEN = 1000


@click.command()
@click.argument("url")
@click.option(
    "--token-file",
    type=click.File(),
    metavar="FILE",
    help="File with a token for the service; - is standard input. By default ANUBIS_SERVICE_TOKEN.",
)
@json_option
def register(*, url: str, token_file: TextIO | None, as_json: bool) -> None:
    """Use the service at URL from now on: every command then works on the runs of the service.

    The address and the token are kept in the home folder; only you can read the file of the token. ANUBIS_SERVICE_URL
    and ANUBIS_SERVICE_TOKEN replace them for single commands. A service that is registered again keeps its token.
    """
    settings = Settings.from_env(os.environ)
    address = registration.checked(url)
    token = registration.token_of(settings, address) if token_file is None else _token(token_file)
    settings = replace(settings, service_token=token)
    found = _health(settings, address)
    _principal(settings, address)
    registration.register(settings, address, settings.service_token)
    if as_json:
        json_output.show({"url": address, "version": found["version"]})
    else:
        terminal.line(f"registered {address} (Anubis {found['version']})")


@click.command()
@json_option
def unregister(*, as_json: bool) -> None:
    """Use the home folder of this machine again."""
    settings = Settings.from_env(os.environ)
    before = registration.registered(settings)
    registration.unregister(settings)
    if as_json:
        json_output.show({"unregistered": before})
    else:
        terminal.line(f"unregistered {before}" if before else "no service is registered")


@click.command()
@json_option
def ping(*, as_json: bool) -> int:
    """Ask the service whether it is ready. Exits 1 if it is not."""
    settings = Settings.from_env(os.environ)
    url = registration.url_of(settings)
    if url is None:
        raise NotFoundError("no service is registered", remedy="register one: anubis register URL")
    start_s = time.monotonic()
    health, state = _health(settings, url), _probe(settings, url, "/readyz")
    took_s = time.monotonic() - start_s
    ready = state.get("status") == "ready"
    if as_json:
        json_output.show({"url": url, "ready": ready, "version": health["version"], "took_s": took_s})
    else:
        about = "is ready" if ready else f"is not ready: {state.get('reason', '')}"
        terminal.line(f"{url} {about} (Anubis {health['version']}, {units.duration(took_s)})")
    return exit_codes.OK if ready else exit_codes.FAILED


@click.command()
@click.option("--as", "new", metavar="NAME", help="Submit under this name from now on.")
@click.option("--forget", is_flag=True, help="Use the name of git or of the login again.")
@json_option
def whoami(*, new: str | None, forget: bool, as_json: bool) -> None:
    """Print the name under which runs are submitted, where they are stored, and the roles of the token.

    The name is ANUBIS_CLIENT_ID, else that of --as, which the home folder keeps, else git's user.name, else the name of the
    login.
    """
    settings = Settings.from_env(os.environ)
    if new is not None and forget:
        raise click.UsageError("--as and --forget exclude each other")
    if new is not None or forget:
        keep_name(settings, new)
    url = registration.url_of(settings)
    found = _principal(settings, url) if url else None
    name = (found and found.name) or person(settings)
    roles = {project: role.value for project, role in found.roles.items()} if found and found.name else {}
    if as_json:
        json_output.show({"name": name, "service": url, "home": str(settings.home), "roles": roles})
        return
    terminal.line(f"{name}, {f'service {url}' if url else f'home folder {settings.home}'}")
    for project, role in roles.items():
        terminal.line(f"{role} in {'all projects' if project == EVERY_PROJECT else project}")


def _token(file: TextIO) -> str:
    try:
        text = file.read(_LONGEST_TOKEN).strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    if parts_of(text) is None:
        raise BadInputError(
            f"{file.name} does not contain a token",
            remedy="give a file with what anubis token create printed",
        )
    return text


def _principal(settings: Settings, url: str) -> Principal:
    """Who the service takes the caller for. Raises UnauthorizedError if it needs a token."""
    service = connection.ServiceConnection(url, settings)
    try:
        return access.Access(service).whoami()
    except NotFoundError:  # a service of an earlier version, without users
        return Principal(name="")
    finally:
        service.close()


def _health(settings: Settings, url: str) -> dict[str, Any]:
    found = _probe(settings, url, "/healthz")
    if found.get("status") != "ok" or not isinstance(found.get("version"), str):
        raise BadInputError(
            f"{url} does not answer like a service of Anubis",
            remedy="use the address that anubis serve prints",
        )
    return found


def _probe(settings: Settings, url: str, path: str) -> dict[str, Any]:
    service = connection.ServiceConnection(url, settings)
    try:
        found = service.probe(path)
    finally:
        service.close()
    return dict(found) if isinstance(found, dict) else {}
