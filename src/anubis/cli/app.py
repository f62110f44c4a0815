"""The root of the command line: the table of commands, and the handling of errors."""

import io
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from anubis import __version__
from anubis.cli import errors, exit_codes, terminal
from anubis.cli.lazy import LazyGroup
from anubis.cli.shared_options import shared_options
from anubis.late import late

if TYPE_CHECKING:
    from anubis.cli import legacy
else:  # only old spellings need it
    legacy = late("anubis.cli.legacy")

#: Heading -> command -> ``module:attribute`` below ``anubis.cli``. A new command needs one entry here.
SECTIONS = {
    "Measure": {
        "run": "commands.run:run",
        "submit": "commands.submit:submit",
        "replay": "commands.replay:replay",
        "sweep": "sweeps.command:sweep",
        "watch": "commands.status:watch",
        "cancel": "commands.cancel:cancel",
        "worker": "workers.command:worker",
        "schedule": "schedules.command:schedule",
        "trigger": "triggers.command:trigger",
    },
    "Look": {
        "status": "commands.status:status",
        "logs": "commands.logs:logs",
        "search": "search.command:search",
        "results": "commands.results:results",
        "show": "commands.show:show",
        "descriptor": "commands.show:descriptor",
        "history": "commands.history:history",
        "compare": "commands.compare:compare",
        "report": "reports.command:report",
    },
    "Judge": {
        "ab": "ab.command:ab",
        "check": "commands.check:check",
        "series": "commands.series:series",
        "alerts": "commands.alerts:alerts",
        "bisect": "commands.bisect:bisect",
        "notify": "commands.notify:notify",
    },
    "Descriptors": {
        "init": "descriptors.init:init",
        "validate": "descriptors.validate:validate",
        "schema": "descriptors.validate:schema",
    },
    "Service": {
        "serve": "service.serve:serve",
        "ui": "service.ui:ui",
        "register": "service.connection:register",
        "unregister": "service.connection:unregister",
        "login": "service.login:login",
        "logout": "service.login:logout",
        "webhook": "webhooks.command:webhook",
        "ping": "service.connection:ping",
        "whoami": "service.connection:whoami",
        "mcp": "service.assistants:mcp",
        "user": "access.users:user",
        "project": "access.projects:project",
        "secret": "access.secrets:secret",
        "token": "access.tokens:token",
        "sign-in": "access.sign_ins:sign_in",
        "audit": "access.audit:audit",
    },
    "Maintenance": {
        "doctor": "doctor.command:doctor",
        "record": "records.command:record",
        "data": "datasets.command:data",
        "import": "commands.exchange:import_",
        "export": "reports.export:export",
        "purge": "commands.purge:purge",
        "archive": "keeping.archive:archive",
        "hold": "keeping.hold:hold",
        "expire": "keeping.expire:expire",
        "gc": "commands.gc:gc",
        "backup": "doctor.backup:backup",
        "restore": "doctor.restore:restore",
        "completion": "commands.completion:completion",
    },
}


@click.group(
    cls=LazyGroup,
    sections=SECTIONS,
    params=list(shared_options()),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-v", "--version", message="anubis %(version)s")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Benchmark machine-learning systems: measure what a descriptor describes, and judge the results.

    Name a run by its id, by a unique prefix of it, or by @last, @last~1 and so on. The options below can also follow
    the command.
    """
    if not terminal.colour_wanted():
        ctx.color = False


#: Options of the root that may come first.
_OPTIONS = {name for param in app.params for name in param.opts} | {"--help"}


def execute(
    args: Sequence[str], *, translate: Callable[[Sequence[str]], list[str] | None] | None = None
) -> int:
    """Run the command line; its exit status. ``translate`` turns old spellings into new ones."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(
            stream, io.TextIOWrapper
        ):  # characters that the terminal cannot encode must not end a command
            stream.reconfigure(errors="replace")
    terminal.fill_closed_streams()
    words = list(args)
    as_json = "--json" in before_command(words)
    terminal.preferences.reset()
    try:
        translated = translate(words) if translate else _modern(words)
        if translated is None:
            return exit_codes.OK
        words = translated
        if not words:
            words = ["--help"]
        answer = app.main(args=words, prog_name="anubis", standalone_mode=False)
    except click.Abort:
        return exit_codes.INTERRUPTED
    except click.ClickException as error:
        return errors.report_usage(error, as_json=as_json)
    except Exception as error:  # noqa: BLE001  every error ends in a message
        return errors.report(error, as_json=as_json)
    return answer if isinstance(answer, int) else exit_codes.OK


def before_command(words: Sequence[str]) -> Sequence[str]:
    """The arguments before ``--``, which separates the command of ``anubis run`` and ``anubis init``."""
    return words[: words.index("--")] if "--" in words else words


def _modern(words: list[str]) -> list[str] | None:
    """The old client had actions that start with dashes instead of commands; None if one is answered."""
    if (
        words
        and (words[0].startswith("--") or words[0] == "-i")
        and words[0].partition("=")[0] not in _OPTIONS
    ):
        return legacy.from_old_client(words)
    return words
