"""The scheduled reports of an installation: a TOML file that says who receives which report, and when."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anubis import describe
from anubis.describe.check.schedules import check_schedule, check_timezone
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem
from anubis.settings import Settings

DAY_S = 86_400.0
_EXAMPLE = 'for example: [[report]] and below it to = ["mailto:team@example.org"] and schedule = "0 8 * * 1"'
_TEXTS = ("schedule", "timezone", "group_by")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledReport:
    """A report of a period that is sent at due times."""

    #: Addresses; their schemes are those of notifiers that send letters.
    to: tuple[str, ...]
    #: Cron expression or ``@`` name of the due times, and its time zone.
    schedule: str
    timezone: str = "UTC"
    #: Length of the period before the due time, seconds.
    period_s: float = 7 * DAY_S
    #: A label: the report has a section for each of its values.
    group_by: str = ""
    #: Whether it is the table of averages.
    daily: bool = False


def of_installation(settings: Settings) -> Sequence[ScheduledReport]:
    """The reports in the file that the settings name, else in the one that may be in the home folder.

    Raises BadInputError for a file that is not valid, or that was named and does not exist.
    """
    file = settings.reports
    try:
        return read(file.read_text(encoding="utf-8"), file)
    except FileNotFoundError:
        if file == settings.home / "reports.toml":
            return ()
        raise BadInputError(
            f"there is no file {file} with scheduled reports", remedy="create it, or remove ANUBIS_REPORTS"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"the scheduled reports {file} cannot be read: {error}", remedy="make the file readable"
        ) from error


def read(text: str, file: Path) -> Sequence[ScheduledReport]:
    """The reports in a text. Raises BadInputError with every problem."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(
            f"the scheduled reports {file} are not TOML: {error}", remedy="correct the file"
        ) from error
    tables = tree.get("report", [])
    problems = [_problem(key, "this is not a key of scheduled reports") for key in tree if key != "report"]
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        problems.append(_problem("report", "this is not a list of tables"))
        tables = []
    found = [_report(f"report[{number}]", table, problems) for number, table in enumerate(tables)]
    if problems:
        named = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
        raise BadInputError(
            f"the scheduled reports {file} are not valid: {named}",
            remedy=problems[0].remedy,
            problems=problems,
            file=str(file),
        )
    return [each for each in found if each is not None]


def _report(path: str, table: dict[str, Any], problems: list[Problem]) -> ScheduledReport | None:
    """The report of one table; None, after adding what is not valid to ``problems``."""
    before = len(problems)
    known = {"to", "period_days", "daily", *_TEXTS}
    problems += [
        _problem(f"{path}.{key}", "this is not a key of a report") for key in table if key not in known
    ]
    to, days, daily = table.get("to"), table.get("period_days", 7), table.get("daily", False)
    if not isinstance(to, list) or not to or not all(isinstance(each, str) and ":" in each for each in to):
        problems.append(_problem(f"{path}.to", "this is not a list of addresses"))
    if isinstance(days, bool) or not isinstance(days, int | float) or not 0 < days < 1e4:
        problems.append(_problem(f"{path}.period_days", "this is not a number of days above 0"))
    if not isinstance(daily, bool):
        problems.append(_problem(f"{path}.daily", "this is neither true nor false"))
    texts = {key: table[key] for key in _TEXTS if key in table}
    problems += [
        _problem(f"{path}.{key}", "this is not a text")
        for key, value in texts.items()
        if not isinstance(value, str)
    ]
    if "schedule" not in table:
        problems.append(_problem(f"{path}.schedule", "this is missing"))
    if len(problems) == before:
        problems += _wrong_times(path, table["schedule"], table.get("timezone", "UTC"))
    if len(problems) > before:
        return None
    return ScheduledReport(to=tuple(table["to"]), period_s=days * DAY_S, daily=daily, **texts)


def _wrong_times(path: str, schedule: str, timezone: str) -> list[Problem]:
    remarks = {"schedule": check_schedule(schedule), "timezone": check_timezone(timezone)}
    found = [
        _problem(f"{path}.{key}", remark.message) for key, remark in remarks.items() if remark is not None
    ]
    if not found and describe.due_after(schedule, timezone, 0.0) is None:
        found = [_problem(f"{path}.schedule", "this has no due time")]
    return found


def _problem(path: str, message: str) -> Problem:
    return Problem(path=path, message=message, remedy=_EXAMPLE)
