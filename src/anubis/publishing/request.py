"""What a report is about."""

from dataclasses import dataclass
from enum import StrEnum


class ReportKind(StrEnum):
    """The subject of a report."""

    RUN = "run"
    FAMILY = "family"
    BENCHMARK = "benchmark"
    ALERT = "alert"
    #: What changed and failed in a period.
    PERIOD = "period"
    #: The average of every metric over the last day, by benchmark.
    DAILY = "daily"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRequest:
    """A report to be made."""

    #: None: what the name names.
    kind: ReportKind | None = None
    #: Id of a run, family or alert, or the name of a benchmark; empty for a period.
    name: str = ""
    #: The period, UTC seconds, without its end; None: seven days (a day for ``DAILY``) before the end, and now.
    since_s: float | None = None
    until_s: float | None = None
    #: A label: a period has one section for each of its values.
    group_by: str = ""
