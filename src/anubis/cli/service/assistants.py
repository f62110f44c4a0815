"""``anubis mcp``."""

from typing import TYPE_CHECKING

import click

from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.views import json_output
from anubis.late import late
from anubis.model.errors import PlugInError

if TYPE_CHECKING:
    from anubis import wiring
    from anubis.mcp import server
else:  # --help does not need them
    server = late("anubis.mcp.server")
    wiring = late("anubis.wiring")


@click.command()
@json_option
def mcp(*, as_json: bool) -> None:
    """Serve the Model Context Protocol on standard input and output, for assistants.

    An assistant can list, show and compare runs and explain verdicts. It can submit a descriptor in two steps: the first
    describes what would run and returns a token, the second needs that token. The commands use the registered service, or
    the home folder, with the rights of this user.
    """
    with open_client() as client:
        try:
            run = server.serve
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] != "mcp":
                raise
            raise PlugInError(
                "anubis mcp needs the package mcp, which is not installed",
                remedy="pip install 'anubis-bench[mcp]'",
            ) from error
        run(client, wiring.WallClock())
    if as_json:
        json_output.show({"ended": True})
