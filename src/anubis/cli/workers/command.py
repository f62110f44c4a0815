"""``anubis worker``: a background worker, a machine that joins a service, and the machines that joined."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from anubis.api.machines.joined import worker_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.views import json_output, units
from anubis.cli.workers import view
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.settings import Settings

if TYPE_CHECKING:
    from anubis.client.joining import spool, start
else:  # only --join needs them
    start = late("anubis.client.joining.start")
    spool = late("anubis.client.joining.spool")

_NAME = click.argument("name")


@click.group(invoke_without_command=True)
@click.option(
    "--schedules",
    "keeps_schedules",
    is_flag=True,
    help="Also submit the runs of schedules at their due times, and work until SIGTERM or Ctrl-C.",
)
@click.option(
    "--join",
    "url",
    metavar="URL",
    help="Measure runs of the service at URL on this machine, until SIGTERM or Ctrl-C.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the token of this worker (default: the variable ANUBIS_WORKER_TOKEN).",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="WORD|NAME=VALUE",
    help="A label that descriptors can name in hardware.instance_type; may be repeated.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=click.Choice(["process", "container"]),
    help="Measure only with this engine; may be repeated (default: all that can be used here).",
)
@json_option
@click.pass_context
def worker(
    ctx: click.Context, /, *, keeps_schedules: bool, url: str | None, as_json: bool, **given: Any
) -> None:
    """Drive all unfinished runs, then exit; exit at once if another worker does. Started automatically when there are unfinished runs.

    With --join: make this machine a place to run for a service.
    """
    if ctx.invoked_subcommand is not None:
        return
    if url is not None:
        if keeps_schedules:
            raise BadInputError("--schedules and --join exclude one another", remedy="use one of them")
        _join(url, as_json=as_json, **given)
        return
    if any(given.values()):
        raise BadInputError("--token-file, --label and --engine need --join", remedy="add --join URL")
    _drive(keeps_schedules=keeps_schedules, as_json=as_json)


def _drive(*, keeps_schedules: bool, as_json: bool) -> None:
    with open_client(embedded=True) as client:
        if keeps_schedules:
            active = [each for each in client.schedules.find() if each.paused_s is None]
            terminal.note(f"keeping {units.counted(len(active), 'active schedule')} until SIGTERM or Ctrl-C")
            client.workers.keep_schedules()
            if as_json:
                json_output.show({"drove": True})
            return
        drove = client.workers.run()
    if as_json:
        json_output.show({"drove": drove})
    elif not drove:
        terminal.note("another worker is active")


def _join(
    url: str, *, token_file: Path | None, labels: tuple[str, ...], engines: tuple[str, ...], as_json: bool
) -> None:
    logging.getLogger().addHandler(terminal.Log())
    settings = Settings.from_env(os.environ)
    token = spool.Token(token_file, os.environ.get(start.TOKEN, ""))

    def joined(orders: Any, machine: Any) -> None:
        if as_json:
            json_output.show(
                {"name": orders.name, "url": url, "engines": [*machine.engines], "slots": machine.slots}
            )
        else:
            terminal.line(f"joined {url} as {orders.name}")
        sys.stdout.flush()

    start.join(settings, url, token, labels=labels, engines=engines, joined=joined)


@worker.command()
@_NAME
@click.option(
    "--output",
    "-o",
    "out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the token to this private file, not to the standard output.",
)
@json_option
def token(*, name: str, out: Path | None, as_json: bool) -> None:
    """Make the token with which a worker NAME can join; an earlier one is no longer valid.

    It is made by the registered service, or in the home folder of a service on this machine. It is shown once, and only
    its digest is stored.
    """
    # The file first: an earlier token remains valid if it cannot be written.
    with open_client() as client, _private(out) as file:
        made = client.workers.make_token(name)
        if file is not None:
            file.write(made + "\n")
    if as_json:
        json_output.show({"name": name, **({"file": str(out)} if out else {"token": made})})
    else:
        terminal.line(f"wrote {out}" if out else made)


@contextmanager
def _private(path: Path | None) -> Iterator[TextIO | None]:
    """A file that only its owner can read; it has its name when the block has ended without an error."""
    if path is None:
        yield None
        return
    part = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise BadInputError(
            f"the token cannot be written to {path}: {error.strerror}", remedy="use another file"
        ) from error
    finally:
        part.unlink(missing_ok=True)


@worker.command()
@_NAME
@json_option
def revoke(*, name: str, as_json: bool) -> None:
    """Refuse the token of a worker from now on; what runs there is lost and placed again if its limits permit it."""
    with open_client() as client:
        found = client.workers.revoke(name)
    if as_json:
        json_output.show(worker_to_json(found.worker, found.attempts))
    else:
        terminal.line(f"revoked the token of {name}")


@worker.command(name="list")
@json_option
def listed(*, as_json: bool) -> None:
    """List the machines that joined as places to run."""
    with open_client() as client:
        found = client.workers.find()
    if as_json:
        json_output.show_list(worker_to_json(each.worker, each.attempts) for each in found)
    elif terminal.preferences.quiet:
        for each in found:
            terminal.line(each.worker.name)
    elif found:
        view.show(found)
    else:
        terminal.line("no joined workers")


@worker.command()
@_NAME
@json_option
def show(*, name: str, as_json: bool) -> None:
    """Show a joined machine: labels, slots, facts, when it was last seen, and what runs there."""
    with open_client() as client:
        found = client.workers.get(name)
    if as_json:
        json_output.show(worker_to_json(found.worker, found.attempts))
    else:
        view.show_one(found)
