"""Schedules as tables: times in local time and in UTC."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from anubis.cli import terminal
from anubis.cli.views import tables, units
from anubis.contracts.schedules import CatchUp, DueState, DueTime, Schedule
from anubis.reporting.markup import person

#: Colours of what happened to a due time.
_COLOURS = {
    DueState.STARTED: "green",
    DueState.QUEUED: "blue",
    DueState.SKIPPED: "yellow",
    DueState.REPLACED: "yellow",
    DueState.FAILED: "red",
}


def show(found: Sequence[Schedule], short: Mapping[str, str]) -> None:
    """A table of schedules."""
    columns = (
        tables.Column(title="SCHEDULE"),
        tables.Column(title="NAME", cut=True),
        tables.Column(title="WHEN"),
        tables.Column(title="ZONE", cut=True),
        tables.Column(title="NEXT (LOCAL)"),
        tables.Column(title="NEXT (UTC)"),
        tables.Column(title="STATE"),
        tables.Column(title="REASON", cut=True),
    )
    tables.show(columns, [_row(schedule, short[schedule.id]) for schedule in found])


def show_one(
    schedule: Schedule, upcoming_s: Sequence[float], due_times: Sequence[DueTime], short: Mapping[str, str]
) -> None:
    """Everything about a schedule: settings, next times, and what happened to the latest due times."""
    catch_up = schedule.catch_up.value
    if schedule.catch_up is CatchUp.ALL:
        catch_up += f", at most {schedule.catch_up_limit}"
    rows = [
        ("schedule", schedule.id),
        ("name", schedule.full_name),
        ("state", _state(schedule)),
        ("when", f"{schedule.scheduling} ({schedule.timezone})"),
        ("overlap", schedule.overlap.value),
        ("catch-up", catch_up),
        ("jitter", units.duration(schedule.jitter_s) if schedule.jitter_s else ""),
        ("pause after", units.counted(schedule.pause_after, "failure") if schedule.pause_after else ""),
        ("file", schedule.file),
        ("folder", schedule.folder or ""),
        ("overrides", " ".join(f"{name}={value}" for name, value in schedule.overrides.items())),
        ("added", f"{units.moment(schedule.created_s)} by {person(schedule.owner)}"),
        ("changed", units.moment(schedule.changed_s) if schedule.changed_s != schedule.created_s else ""),
    ]
    for line in tables.pairs(rows, width=terminal.width()):
        terminal.line(line)
    if upcoming_s:
        show_times(schedule, upcoming_s)
    if due_times:
        terminal.line()
        columns = (
            tables.Column(title="DUE (LOCAL)"),
            tables.Column(title="DUE (UTC)"),
            tables.Column(title="TIMES", right=True),
            tables.Column(title="WHAT"),
            tables.Column(title="RUN"),
            tables.Column(title="REASON", cut=True),
        )
        tables.show(columns, [_due_row(due, short) for due in due_times])


def show_times(schedule: Schedule, upcoming_s: Sequence[float]) -> None:
    """The next due times in local time, in UTC, and in the zone of the schedule."""
    terminal.line()
    columns = (
        tables.Column(title="NEXT (LOCAL)"),
        tables.Column(title="NEXT (UTC)"),
        tables.Column(title=f"NEXT ({schedule.timezone})"),
    )
    tables.show(columns, [[units.moment(at_s), utc(at_s), _in_zone(schedule, at_s)] for at_s in upcoming_s])


def utc(at_s: float) -> str:
    """UTC, to the minute."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%MZ")


def _in_zone(schedule: Schedule, at_s: float) -> str:
    if schedule.timezone == "UTC":
        return ""
    return datetime.fromtimestamp(at_s, ZoneInfo(schedule.timezone)).strftime("%Y-%m-%d %H:%M %Z")


def _row(schedule: Schedule, short: str) -> list[tables.Cell]:
    next_s = None if schedule.paused_s is not None else schedule.next_s
    return [
        short,
        schedule.full_name,
        schedule.scheduling,
        schedule.timezone,
        "" if next_s is None else units.moment(next_s),
        "" if next_s is None else utc(next_s),
        tables.Styled(_word(schedule), "yellow" if schedule.paused_s is not None else "green"),
        schedule.pause_reason if schedule.paused_s is not None else "",
    ]


def _word(schedule: Schedule) -> str:
    if schedule.paused_s is not None:
        return "paused"
    if schedule.next_s is None:
        return "never due again"
    if schedule.next_s < time.time() - units.SPAN_UNITS["m"]:
        return "late: start anubis worker --schedules"
    return f"active, {len(schedule.queued)} queued" if schedule.queued else "active"


def _state(schedule: Schedule) -> str:
    if schedule.paused_s is None:
        return _word(schedule)
    return f"paused since {units.moment(schedule.paused_s)}: {schedule.pause_reason}"


def _due_row(due: DueTime, short: Mapping[str, str]) -> list[tables.Cell]:
    local, universal = units.moment(due.due_s), utc(due.due_s)
    if due.last_s is not None:
        local, universal = f"{local} to {units.moment(due.last_s)}", f"{universal} to {utc(due.last_s)}"
    return [
        local,
        universal,
        str(due.count) if due.count > 1 else "",
        tables.Styled(due.state.value, _COLOURS[due.state]),
        "" if due.run_id is None else short.get(due.run_id, due.run_id),
        due.reason,
    ]
