"""``anubis notify``: a trusted job posts the report that an untrusted job wrote."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.cli import exit_codes
from anubis.cli.params import json_option
from anubis.cli.views import gate_view, json_output
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
    help="The file that anubis check --report wrote.",
)
@click.option(
    "--post",
    "names",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Post to github or gitlab; repeatable.",
)
@json_option
def notify(*, file: Path, names: tuple[str, ...], as_json: bool) -> int:
    """Post the report of a gate that ran in a job without permission to post.

    The file is untrusted: every key and type is checked, and it cannot determine where it is posted.
    """
    if file.suffix in {".xml", ".md"}:
        raise BadInputError(f"{file} cannot be posted", remedy="write the report with --report report.json")
    report = report_file.read(file)
    if not as_json:
        return exit_codes.OK if gate_view.post(report, names) else exit_codes.FAILED
    posts = list(gate_view.posts(report, names))
    json_output.show(
        [
            {
                "name": post.name,
                "addresses": list(post.addresses),
                "error": None if post.error is None else post.error.message,
            }
            for post in posts
        ]
    )
    return exit_codes.FAILED if any(post.error for post in posts) else exit_codes.OK
