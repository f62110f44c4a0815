"""A click group that imports a command when it is used and lists commands in sections."""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from anubis.cli import exit_codes
from anubis.cli.shared_options import add_to
from anubis.late import late

if TYPE_CHECKING:
    import difflib
else:  # only needed for unknown commands
    difflib = late("difflib")


class LazyGroup(click.Group):
    """``sections``: heading -> command name -> ``module:attribute`` below ``anubis.cli``."""

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, str]],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._sections = sections
        self._places = {name: place for places in sections.values() for name, place in places.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        place = self._places.get(cmd_name)
        if place is None:
            return None
        module, _, attribute = place.partition(":")
        command: click.Command = getattr(import_module(f"anubis.cli.{module}"), attribute)
        return add_to(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._places and not args[0].startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(args[0], self._places, n=2)
            hint = f": did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"unknown command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self._places))
        for heading, names in self._sections.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name.ljust(width), command.get_short_help_str(limit=100))
                        for name, command in commands
                        if command
                    ]
                )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Exit status"):
            formatter.write_dl([(str(code), text) for code, text in exit_codes.MEANINGS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """The command's exit status. A closed pipe is not reported as an error."""
        try:
            answer = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Buffered output must not fail again when the interpreter flushes it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return exit_codes.BROKEN_PIPE
        return answer
