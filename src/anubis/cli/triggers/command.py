"""``anubis trigger``: descriptors that are submitted when a repository or a registry reports a change."""

from collections.abc import Sequence
from pathlib import Path

import click

from anubis.api.schedules import delivery_to_json, trigger_to_json
from anubis.cli import terminal
from anubis.cli.errors import warned
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import json_option, mapping, overrides_option
from anubis.cli.views import json_output, tables, units
from anubis.contracts.service.triggers import ChangeKind, DeliveryState, Trigger, TriggerDelivery, TriggerKind
from anubis.reporting.markup import person

_NAME = click.argument("name", metavar="NAME")
_COLOURS = {DeliveryState.STARTED: "green", DeliveryState.SKIPPED: "yellow", DeliveryState.FAILED: "red"}


@click.group(cls=ListGroup)
def trigger() -> None:
    """Submit descriptors when GitHub, GitLab or a registry reports a change to the service.

    The reports go to http://SERVICE/api/v1/hooks/NAME and are signed with a secret. In another project than default, NAME
    is PROJECT:NAME. Without a command: list the triggers.
    """


@trigger.command()
@_NAME
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--from",
    "kind",
    type=click.Choice([each.value for each in TriggerKind]),
    required=True,
    help="Who sends the reports.",
)
@click.option(
    "--secret",
    metavar="NAME",
    required=True,
    help="Name of the secret in the file of secrets (ANUBIS_SECRETS) with which reports are signed.",
)
@click.option(
    "--on",
    "changes",
    type=click.Choice([each.value for each in ChangeKind]),
    multiple=True,
    help="Changes that submit the descriptors. Repeatable. [default: push; for a registry: image]",
)
@click.option(
    "--ref",
    "patterns",
    multiple=True,
    default=("*",),
    metavar="PATTERN",
    help="Branches or tags, with * for any characters. Repeatable. [default: all]",
)
@click.option(
    "--repository",
    "repositories",
    multiple=True,
    default=("*",),
    metavar="PATTERN",
    help="Repositories, with * for any characters. Repeatable. [default: all]",
)
@overrides_option("Override a field of every descriptor, for example measure.repeats=10")
@click.option(
    "--script",
    type=click.Path(path_type=Path),
    metavar="DIR|FILE",
    help="Code of the benchmark; BAI_SCRIPTS_PATH contains its folder at run time.",
)
@json_option
def create(
    *,
    name: str,
    files: tuple[Path, ...],
    kind: str,
    secret: str,
    changes: tuple[str, ...],
    patterns: tuple[str, ...],
    repositories: tuple[str, ...],
    overrides: tuple[tuple[str, str], ...],
    script: Path | None,
    as_json: bool,
) -> None:
    """Store a trigger: FILEs are submitted with the commit or the image of each change.

    The commit becomes subject.commit, the image env.docker_image. The files are stored: later changes of them take effect
    when the trigger is created again.
    """
    source = TriggerKind(kind)
    usual = ChangeKind.IMAGE if source is TriggerKind.REGISTRY else ChangeKind.PUSH
    with open_client() as client:
        created = client.triggers.create(
            name,
            files,
            kind=source,
            secret=secret,
            changes=[ChangeKind(each) for each in changes] or [usual],
            patterns=patterns,
            repositories=repositories,
            overrides=mapping(overrides),
            script=script,
            warned=warned,
        )
    if as_json:
        json_output.show(trigger_to_json(created))
        return
    terminal.line(created.full_name)
    terminal.note(f"send the reports to http://SERVICE/api/v1/hooks/{created.full_name}")


@trigger.command(name="list")
@json_option
def listed(*, as_json: bool) -> None:
    """List the triggers."""
    with open_client() as client:
        found = client.triggers.find()
    if as_json:
        json_output.show_list(map(trigger_to_json, found))
    elif terminal.preferences.quiet:
        for each in found:
            terminal.line(each.full_name)
    elif found:
        columns = (
            tables.Column(title="TRIGGER"),
            tables.Column(title="FROM"),
            tables.Column(title="ON"),
            tables.Column(title="REF", cut=True),
            tables.Column(title="DESCRIPTORS", cut=True),
        )
        tables.show(columns, [_row(each) for each in found])
    else:
        terminal.line("no triggers")


def _row(trigger: Trigger) -> list[tables.Cell]:
    names = ", ".join(each.name for each in trigger.descriptors)
    return [trigger.full_name, trigger.kind.value, _changes(trigger), ", ".join(trigger.patterns), names]


def _changes(trigger: Trigger) -> str:
    return ", ".join(each.value for each in trigger.changes)


@trigger.command()
@_NAME
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Show only the latest N reports.",
)
@json_option
def show(*, name: str, limit: int, as_json: bool) -> None:
    """Show a trigger, and what happened to the latest reports with a valid signature."""
    with open_client() as client:
        found = client.triggers.get(name)
        reports = client.triggers.deliveries(name, limit=limit)
    if as_json:
        json_output.show({**trigger_to_json(found), "deliveries": list(map(delivery_to_json, reports))})
        return
    rows = [
        ("trigger", found.full_name),
        ("from", found.kind.value),
        ("on", _changes(found)),
        ("refs", ", ".join(found.patterns)),
        ("repositories", ", ".join(found.repositories)),
        ("secret", f"{found.secret} (its value is not shown)"),
        ("descriptors", ", ".join(each.name for each in found.descriptors)),
        ("overrides", " ".join(f"{path}={value}" for path, value in found.overrides.items())),
        ("created", f"{units.moment(found.created_s)} by {person(found.owner)}"),
    ]
    for line in tables.pairs(rows, width=terminal.width()):
        terminal.line(line)
    if reports:
        terminal.line()
        _show_reports(reports)


def _show_reports(reports: Sequence[TriggerDelivery]) -> None:
    columns = (
        tables.Column(title="RECEIVED"),
        tables.Column(title="STATE"),
        tables.Column(title="CHANGE", cut=True),
        tables.Column(title="RUNS"),
        tables.Column(title="REASON", cut=True),
    )
    rows: list[list[tables.Cell]] = [
        [
            units.moment(each.received_s),
            tables.Styled(each.state.value, colour=_COLOURS[each.state]),
            each.change,
            " ".join(each.run_ids),
            each.reason,
        ]
        for each in reports
    ]
    tables.show(columns, rows)


@trigger.command()
@_NAME
@json_option
def delete(*, name: str, as_json: bool) -> None:
    """Delete a trigger and its reports; its runs remain."""
    with open_client() as client:
        removed = client.triggers.remove(name)
    if as_json:
        json_output.show(trigger_to_json(removed))
    else:
        terminal.line(f"deleted trigger {removed.full_name}")
