"""Schedules: cron expressions of five fields, their ``@`` names, and time zones.

cronsim computes the due times. It follows Debian's cron, also for daylight saving time: a skipped time is due directly
after the change, a repeated time is due once.
"""

import re
from datetime import UTC, datetime, tzinfo
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
    if scheduling == SINGLE_RUN:
        return None
    start = datetime.fromtimestamp(after_s, zone(timezone))
    moment = next(CronSim(expanded(scheduling), start), None)
    return None if moment is None else moment.timestamp()


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
        allowed = f": it takes {_FIELDS[name]}" if name in _FIELDS else ""
        return Remark(
            message=f"the {name} field of the cron expression is not valid{allowed}", remedy=_EXAMPLE
        )
    except (AssertionError, ValueError):  # cronsim on forms such as "L/2" and numbers of a thousand digits
        return Remark(message="the cron expression cannot be read", remedy=_EXAMPLE)
    if never:
        return Remark(message="the schedule is never due: this date does not exist", remedy=_EXAMPLE)
    return None


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
