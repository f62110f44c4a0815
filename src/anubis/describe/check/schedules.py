"""Schedules: cron expressions of five fields, their ``@`` names, and time zones.

Due times follow Debian's cron, also for daylight saving time. An expression with a fixed minute and hour is due once a day: a
skipped time directly after the change, a repeated time at the first of the two. If the minute or the hour begins with
``*``, it is due by elapsed time: not in the skipped hour, and in both of the repeated ones. cronsim reads the expressions.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from anubis.describe.findings import Remark, did_you_mean
from anubis.model.descriptor import SINGLE_RUN

#: Names and the corresponding fields (crontab(5)).
NAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_NEVER = "the schedule is never due: this date does not exist"
#: An expression that is not due in this time is never due.
_LONGEST = timedelta(days=50 * 366)
_FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT",
}
_EXAMPLE = 'for example "0 3 * * *" (every night at three), "@daily" or "single_run"'


def due_after(scheduling: str, timezone: str, after_s: float) -> float | None:
    """The next due time of a schedule after ``after_s``; both are seconds since 1970. None: never.

    ``scheduling`` and ``timezone`` are those of a descriptor that was read without errors.
    """
    return next(due_times(scheduling, timezone, after_s), None)


def due_times(scheduling: str, timezone: str, after_s: float) -> Iterator[float]:
    """The due times of a schedule after ``after_s``, in order and each once; see ``due_after``."""
    if scheduling == SINGLE_RUN:
        return
    last_s, start = after_s, datetime.fromtimestamp(after_s, zone(timezone))
    cron = CronSim(expanded(scheduling), start)
    # Fixed times of a day follow the clock on the wall, other expressions the elapsed time, as in Debian's cron.
    follows_wall = cron.fixup_tz is not None or start.tzinfo is UTC
    for moment in cron if follows_wall else _elapsed(cron, start):
        # Times that the clock skips fall together, and those before a start in a repeated hour are past.
        if (due_s := moment.timestamp()) > last_s:
            last_s = due_s
            yield due_s


def _elapsed(cron: CronSim, start: datetime) -> Iterator[datetime]:
    """The due times of an expression in elapsed time.

    cronsim steps over hours next to a change at midnight or by half an hour. So an offset that changes within a step is
    approached minute by minute.
    """
    at = start.replace(second=0, microsecond=0).astimezone(UTC)
    end = at + _LONGEST
    while at < end:
        local = at.astimezone(start.tzinfo)
        if local.month not in cron.months:
            at = _midnight(local.replace(day=28) + timedelta(days=4), day=1)
            continue
        if not cron.match_day(local):
            at = _midnight(local + timedelta(days=1))
            continue
        later: list[int] = []
        if local.hour in cron.hours:
            if local.minute in cron.minutes:
                yield local
            later = [minute for minute in cron.minutes if minute > local.minute]
        following = at + timedelta(minutes=min(later, default=60) - local.minute)
        is_even = following.astimezone(start.tzinfo).utcoffset() == local.utcoffset()
        at = following if is_even else at + timedelta(minutes=1)


def _midnight(local: datetime, day: int | None = None) -> datetime:
    """The first moment of the date (or of another day of its month) in its zone, as UTC."""
    date = local.replace(day=day or local.day, hour=0, minute=0, fold=0)
    return date.astimezone(UTC)


def expanded(scheduling: str) -> str:
    """The five fields of an ``@`` name; other schedules unchanged."""
    return NAMES.get(scheduling.lower(), scheduling)


def zone(timezone: str) -> tzinfo:
    """The zone with that IANA name. Raises ZoneInfoNotFoundError or ValueError. UTC needs no zone database."""
    return UTC if timezone == "UTC" else ZoneInfo(timezone)


def check_schedule(scheduling: str) -> Remark | None:
    """The finding about ``info.scheduling``; None if it is valid."""
    if scheduling == SINGLE_RUN:
        return None
    if scheduling.startswith("@"):
        return _check_name(scheduling)
    parts = scheduling.split()
    if len(parts) != len(_FIELDS):
        return Remark(
            message=f"a cron expression has five fields; found {len(parts)}",
            remedy=f"{did_you_mean(scheduling, [SINGLE_RUN])} or {_EXAMPLE}"
            if scheduling.startswith("single")
            else f"write minute, hour, day of month, month and day of week; {_EXAMPLE}",
        )
    if "?" in scheduling:
        return Remark(message="`?` is not supported in cron expressions", remedy="write `*`")
    return _check_fields(scheduling)


def _check_name(scheduling: str) -> Remark | None:
    if scheduling.lower() in NAMES:
        return None
    if scheduling.lower() == "@reboot":
        return Remark(message="@reboot is not supported: a service runs on many machines", remedy=_EXAMPLE)
    return Remark(message=f"`{scheduling}` is not a known schedule", remedy=did_you_mean(scheduling, NAMES))


def _check_fields(scheduling: str) -> Remark | None:
    try:
        never = next(CronSim(scheduling, datetime(2024, 1, 1, tzinfo=UTC)), None) is None
    except CronSimError as error:
        name = re.sub("^Bad ", "", str(error))
        if name == "day-of-month" and _no_such_date(scheduling):
            return Remark(message=_NEVER, remedy=_EXAMPLE)
        allowed = f": it takes {_FIELDS[name]}" if name in _FIELDS else ""
        return Remark(
            message=f"the {name} field of the cron expression is not valid{allowed}", remedy=_EXAMPLE
        )
    except (AssertionError, ValueError):  # cronsim on forms such as "L/2" and numbers of a thousand digits
        return Remark(message="the cron expression cannot be read", remedy=_EXAMPLE)
    if never:
        return Remark(message=_NEVER, remedy=_EXAMPLE)
    return None


def _no_such_date(scheduling: str) -> bool:
    """Whether the day exists in some months, but not in those of the expression."""
    minute, hour, day, _, weekday = scheduling.split()
    try:
        CronSim(f"{minute} {hour} {day} * {weekday}", datetime(2024, 1, 1, tzinfo=UTC))
    except (CronSimError, AssertionError, ValueError):
        return False
    return True


def check_timezone(timezone: str) -> Remark | None:
    """The finding about ``info.timezone``; None if it is valid."""
    try:
        zone(timezone)
    except (LookupError, ValueError, OSError):
        close = did_you_mean(timezone, _timezones())
        remedy = close if close.startswith("did") else 'write an IANA name such as "Europe/Berlin"'
        return Remark(message=f"unknown time zone {timezone[:60]!r}", remedy=remedy)
    return None


@cache
def _timezones() -> list[str]:
    """The names of all time zones; listing them reads hundreds of files."""
    return sorted(available_timezones())
