"""Groups with a default command: ``anubis alerts`` is ``anubis alerts list``."""

import click

from anubis.cli.shared_options import leading

LIST = "list"


class ListGroup(click.Group):
    """A group whose options, given without a command, are those of its ``list``."""

    #: Name of the command that lists.
    listing = LIST

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = leading(args)
        if at == len(args) or (args[at].startswith("-") and args[at] not in {"-h", "--help"}):
            args = [*args[:at], self.listing, *args[at:]]
        return super().parse_args(ctx, args)
