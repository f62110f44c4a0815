"""``anubis schedule``: descriptors that are submitted at due times."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.api.runs import run_to_json
from anubis.api.schedules import due_time_to_json, schedule_to_json
from anubis.cli import terminal
from anubis.cli.errors import warned
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import SCHEDULE, SPAN, json_option, mapping, overrides_option
from anubis.cli.schedules import view
from anubis.cli.views import json_output
from anubis.contracts.schedules import CatchUp, Schedule
from anubis.late import late
from anubis.model.ids import short_id

if TYPE_CHECKING:
    from anubis.client.protocol.schedules import Added
    from anubis.submission import due_times
else:  # cron expressions and descriptors are only read where next times are shown
    due_times = late("anubis.submission.due_times")

_REF = click.argument("ref", type=SCHEDULE, metavar="SCHEDULE")
#: Next due times that are shown.
_SHOWN = 5


class _ScheduleGroup(ListGroup):
    listing = "ls"


@click.group(cls=_ScheduleGroup)
def schedule() -> None:
    """Submit descriptors at due times, which anubis worker --schedules keeps.

    SCHEDULE is a name, an id, or a unique prefix of an id. Without a command: list the schedules.
    """


@schedule.command()
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--as", "name", metavar="NAME", help="Name of the schedule (default: that of the benchmark).")
@click.option(
    "--catch-up",
    type=click.Choice([each.value for each in CatchUp]),
    default=CatchUp.LAST.value,
    show_default=True,
    help="Due times to make up for after no worker was active: none, the last, or all up to --catch-up-limit.",
)
@click.option(
    "--catch-up-limit",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    metavar="N",
    help="Most due times to make up for with --catch-up all.",
)
@click.option(
    "--jitter",
    type=SPAN,
    default=0.0,
    metavar="SPAN",
    help="Start up to this much later, differently for each schedule and due time: 30s, 5m.",
)
@click.option(
    "--pause-after",
    type=click.IntRange(0, 100),
    default=0,
    metavar="N",
    help="Pause the schedule after N failures in a row, when it is due the next time (default: never).",
)
@overrides_option("Override a field of the descriptor, for example info.scheduling=@daily")
@click.option(
    "--script",
    type=click.Path(path_type=Path),
    metavar="DIR|FILE",
    help="Code of the benchmark; BAI_SCRIPTS_PATH contains its folder at run time.",
)
@json_option
def add(
    *,
    file: Path,
    catch_up: str,
    jitter: float,
    overrides: tuple[tuple[str, str], ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Store a descriptor with a schedule, or update the schedule of that name.

    The file is stored: later changes of it take effect when it is added again.
    """
    with open_client() as client:
        added = client.schedules.add(
            file,
            overrides=mapping(overrides),
            catch_up=CatchUp(catch_up),
            jitter_s=jitter,
            warned=warned,
            **given,
        )
    if as_json:
        json_output.show(
            {**schedule_to_json(added.schedule), "changes": list(added.changes), "new": not added.before}
        )
        return
    terminal.line(added.schedule.id)
    for line in _changes(added):
        terminal.note(line)
    if added.schedule.paused_s is None:
        view.show_times(added.schedule, due_times.upcoming(added.schedule, _SHOWN))


def _changes(added: "Added") -> list[str]:
    after, before = added.schedule, added.before
    if before is None:
        return [f"added schedule {after.name}; anubis worker --schedules, or a service, starts its runs"]
    lines = [
        f"{name}: {getattr(before, name) or 'none'} -> {getattr(after, name) or 'none'}"
        for name in added.changes
        if hasattr(after, name)
    ]
    if written := [name.removeprefix("descriptor.") for name in added.changes if not hasattr(after, name)]:
        lines.append(
            "the text of the descriptor changed" if written == ["text"] else f"changed: {', '.join(written)}"
        )
    state = ", which is paused" if after.paused_s is not None else ""
    return [
        f"updated schedule {after.name}{state}" if lines else f"schedule {after.name} is unchanged{state}",
        *lines,
    ]


@schedule.command(name="ls")
@json_option
def listed(*, as_json: bool) -> None:
    """List the schedules with their next due times."""
    with open_client() as client:
        found = client.schedules.find()
    if as_json:
        json_output.show_list(schedule_to_json(each) for each in found)
    elif terminal.preferences.quiet:
        for each in found:
            terminal.line(each.id)
    elif found:
        view.show(found, _short_ids([each.id for each in found]))
    else:
        terminal.line("no schedules")


@schedule.command()
@_REF
@click.option(
    "--limit",
    "-n",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    metavar="N",
    help="Show only the latest N due times.",
)
@json_option
def show(*, ref: str, limit: int, as_json: bool) -> None:
    """Show a schedule, its next due times, and what happened to the latest ones."""
    with open_client() as client:
        found = client.schedules.get(ref)
        decided = client.schedules.due_times(found.id, limit=limit)
        short = client.runs.short_ids([due.run_id for due in decided if due.run_id])
    next_s = due_times.upcoming(found, _SHOWN) if found.paused_s is None else []
    if as_json:
        plain = {"upcoming_s": next_s, "due_times": [due_time_to_json(due) for due in decided]}
        json_output.show({**schedule_to_json(found), **plain})
    else:
        view.show_one(found, next_s, decided, short)


@schedule.command()
@_REF
@click.option("--why", default="", metavar="TEXT", help="Why; it is shown with the schedule.")
@json_option
def pause(*, ref: str, why: str, as_json: bool) -> None:
    """Start no more runs. Queued due times are skipped; runs in progress continue."""
    with open_client() as client:
        paused = client.schedules.pause(ref, why=why)
    _show_changed(paused, f"schedule {paused.name} is paused", as_json=as_json)


@schedule.command()
@_REF
@json_option
def resume(*, ref: str, as_json: bool) -> None:
    """Start runs again; due times that passed during the pause are skipped."""
    with open_client() as client:
        resumed = client.schedules.resume(ref)
    when = "never due again" if resumed.next_s is None else f"next due at {view.utc(resumed.next_s)}"
    _show_changed(resumed, f"schedule {resumed.name} is active, {when}", as_json=as_json)


@schedule.command()
@_REF
@json_option
def trigger(*, ref: str, as_json: bool) -> None:
    """Submit the runs of a schedule now, whatever its overlap policy; a background worker drives them.

    Prints the id of every run, one per line.
    """
    with open_client() as client:
        runs = client.schedules.trigger(ref)
        client.workers.start()
    if as_json:
        json_output.show_list(run_to_json(run) for run in runs)
        return
    for run in runs:
        terminal.line(run.id)


@schedule.command()
@_REF
@json_option
def rm(*, ref: str, as_json: bool) -> None:
    """Delete a schedule; its runs remain."""
    with open_client() as client:
        removed = client.schedules.remove(ref)
    text = f"deleted schedule {removed.name}; its runs: anubis history --schedule {removed.id}"
    _show_changed(removed, text, as_json=as_json)


def _show_changed(changed: Schedule, text: str, *, as_json: bool) -> None:
    if as_json:
        json_output.show(schedule_to_json(changed))
    else:
        terminal.line(text)


def _short_ids(ids: list[str]) -> dict[str, str]:
    return {each: short_id(each, [other for other in ids if other != each]) for each in ids}
