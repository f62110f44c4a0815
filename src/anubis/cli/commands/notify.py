"""``anubis notify``: the trusted half of a gate posts what the other half computed."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.cli import exit_codes
from anubis.cli.views import gate_view
from anubis.late import late
from anubis.model.errors import BadInputError

if TYPE_CHECKING:
    from anubis.reporting import report_file
else:  # pydantic
    report_file = late("anubis.reporting.report_file")


@click.command()
@click.option(
    "--report",
    "file",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="What anubis check --report wrote.",
)
@click.option(
    "--post", "names", multiple=True, required=True, metavar="NAME", help="github, gitlab; repeatable."
)
def notify(*, file: Path, names: tuple[str, ...]) -> int:
    """Post the report of a gate that ran elsewhere, where nobody could be told.

    The file is data, whoever wrote it: it is read strictly, and nothing in it says where to post.
    """
    if file.suffix in {".xml", ".md"}:
        raise BadInputError(
            f"{file} is no report that can be posted", remedy="write it with --report report.json"
        )
    report = report_file.read(file)
    return exit_codes.OK if gate_view.post(report, names) else exit_codes.FAILED
