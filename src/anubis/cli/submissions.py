"""What ``anubis run`` and ``anubis submit`` measure: descriptor files, or a command after ``--``."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.cli.errors import warned
from anubis.cli.params import mapping, overlay_option, overrides_option
from anubis.cli.service.ui import note_page
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.run import Run

if TYPE_CHECKING:
    from anubis.client import Client
    from anubis.describe import drafting
else:  # --help does not need it
    drafting = late("anubis.describe.drafting")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments of ``anubis run`` and ``anubis submit``."""

    files: Sequence[Path]
    #: The words after ``--``.
    command: Sequence[str]
    rounds: int
    #: Measured executions of the command in a run; None: not given.
    repeat: int | None
    overrides: Mapping[str, str]
    script: Path | None
    overlays: Sequence[Path] = ()
    needs: Sequence[str] = ()


class CommandAfterDashes(click.Command):
    """A command line that may end in ``--`` and a command, which becomes the parameter ``command``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.params["command"] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The arguments and options of ``Asked``; the function gets it as the parameter ``asked``."""

    @functools.wraps(function)
    def with_asked(*, overrides: Sequence[tuple[str, str]], **given: Any) -> Any:
        names = ("files", "command", "rounds", "repeat", "script", "overlays", "needs")
        asked = Asked(overrides=mapping(overrides), **{name: given.pop(name) for name in names})
        return function(asked=asked, **given)

    decorated: Callable[..., Any] = with_asked
    for decorate in reversed(
        (
            click.argument("files", type=click.Path(path_type=Path), nargs=-1, metavar="[FILE...]"),
            click.option(
                "--rounds",
                type=click.IntRange(1, 1000),
                default=1,
                metavar="N",
                help="Run every file or the command N times, files in alternating order (A B, B A ...).",
            ),
            click.option(
                "--repeat",
                type=click.IntRange(1, 100_000),
                metavar="N",
                help="Execute COMMAND N times in each run (default: once).",
            ),
            overrides_option("Override a field of every descriptor, for example measure.repeats=10"),
            overlay_option,
            click.option(
                "--needs",
                multiple=True,
                metavar="[BENCHMARK=]RUN",
                help="Start only after RUN has succeeded: a stored run, or a benchmark of these files. Repeatable. With "
                "BENCHMARK=, only that benchmark waits.",
            ),
            click.option(
                "--script",
                type=click.Path(path_type=Path),
                metavar="DIR|FILE",
                help="Code of the benchmark; BAI_SCRIPTS_PATH contains its folder at run time.",
            ),
        )
    ):
        decorated = decorate(decorated)
    return decorated


def submit(client: "Client", asked: Asked) -> list[Run]:
    """Store the runs. Raises BadInputError for an invalid combination of arguments."""
    if asked.files and asked.command:
        raise BadInputError(
            "files and a command cannot be measured together",
            remedy="name descriptor files, or give a command after --",
        )
    if asked.files and asked.repeat:
        raise BadInputError(
            "--repeat applies only to a command after --", remedy="for a file, use --set measure.repeats=N"
        )
    if asked.command and asked.overlays:
        raise BadInputError("--overlay applies only to files", remedy="name a descriptor file")
    if not asked.files and not asked.command:
        raise click.MissingParameter(
            ctx=click.get_current_context(),
            param_type="argument",
            param_hint="FILE... (or a command after --)",
        )
    runs = client.runs.submit(
        [drafting.of_command(asked.command, Path.cwd(), repeats=asked.repeat or 1)]
        if asked.command
        else asked.files,
        overrides=asked.overrides,
        script=asked.script,
        rounds=asked.rounds,
        warned=warned,
        overlays=asked.overlays,
        needs=asked.needs,
    )
    if client.is_remote:
        note_page(f"runs/{runs[0].id}" if len(runs) == 1 else f"runs?family={runs[0].family_id}")
    return runs
