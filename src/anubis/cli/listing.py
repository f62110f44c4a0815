"""Groups with a default command: ``anubis alerts`` is ``anubis alerts list``."""

import click

LIST = "list"


class ListGroup(click.Group):
    """A group whose options, given without a command, are those of its ``list``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in {"-h", "--help"}):
            args = [LIST, *args]
        return super().parse_args(ctx, args)
