"""``anubis project``: which runs belong together, and who may use them."""

import click

from anubis.api.access import to_json
from anubis.cli import terminal
from anubis.cli.access import rules, rules_view
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units
from anubis.model.access.roles import EVERY_PROJECT, Role

_PROJECT = click.argument("project")
_MEMBER = click.argument("member")


@click.group(cls=ListGroup)
def project() -> None:
    """Projects, and the roles of their members.

    PROJECT is a name, or * for all projects. MEMBER is a user, or @GROUP. Without a command: list the projects.
    """


@project.command()
@_PROJECT
@json_option
def create(*, project: str, as_json: bool) -> None:
    """Create a project without members. New runs belong to it with ANUBIS_PROJECT."""
    with open_client() as client:
        made = client.access.create_project(project)
    if as_json:
        json_output.show(to_json(made))
    else:
        terminal.line(made.name)


@project.command("list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the projects."""
    with open_client() as client:
        found = client.access.projects()
    if as_json:
        json_output.show(list(map(to_json, found)))
        return
    columns = [tables.Column(title=title) for title in ("PROJECT", "WEIGHT", "PERMITTED", "QUOTA", "CREATED")]
    rows = [
        (
            each.name,
            f"{each.weight:g}",
            rules_view.permitted(each),
            rules_view.limits(each.quota),
            units.moment(each.created_s) if each.created_s else "",
        )
        for each in found
    ]
    tables.show(columns, rows)


@project.command()
@_PROJECT
@click.option(
    "--weight",
    type=click.FloatRange(0.01, 100),
    default=1.0,
    show_default=True,
    help="Share of the runs that start, in proportion to other projects with queued runs.",
)
@json_option
def share(*, project: str, weight: float, as_json: bool) -> None:
    """Set how many runs of a project start, compared with other projects."""
    with open_client() as client:
        found = client.access.put_share(project, weight=weight)
    if as_json:
        json_output.show(to_json(found))
    else:
        terminal.line(f"{found.name} has the weight {found.weight:g}")


@project.command()
@_PROJECT
@json_option
def show(*, project: str, as_json: bool) -> None:
    """Show a project: what its runs may use, its quota, and the roles of its members."""
    with open_client() as client:
        found = None if project == EVERY_PROJECT else client.access.project(project)
        members = client.access.members(project)
    if as_json:
        about = {"name": project} if found is None else to_json(found)
        json_output.show({**about, "members": list(map(to_json, members))})
        return
    if found:
        terminal.line(f"permitted: {rules_view.permitted(found)}")
        terminal.line(f"quota: {rules_view.limits(found.quota) or 'none'}")
    columns = (tables.Column(title="MEMBER"), tables.Column(title="ROLE"))
    tables.show(columns, [(each.member, each.role.value) for each in members])


@project.command()
@_PROJECT
@_MEMBER
@click.argument("role", type=click.Choice([role.value for role in Role]))
@json_option
def grant(*, project: str, member: str, role: str, as_json: bool) -> None:
    """Give a member a role in a project, in place of another one.

    viewer: read; submitter: also submit and cancel; admin: also delete, and decide about members.
    """
    with open_client() as client:
        client.access.grant(project, member, Role(role))
    if as_json:
        json_output.show({"project": project, "member": member, "role": role})
    else:
        terminal.line(f"{member} is {role} in {project}")


@project.command()
@_PROJECT
@_MEMBER
@json_option
def revoke(*, project: str, member: str, as_json: bool) -> None:
    """Take the role of a member in a project away."""
    with open_client() as client:
        client.access.end_membership(project, member)
    if as_json:
        json_output.show({"project": project, "member": member, "role": None})
    else:
        terminal.line(f"{member} has no role in {project}")


project.add_command(rules.permit)
project.add_command(rules.forbid)
project.add_command(rules.quota)
