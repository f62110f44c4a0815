"""The table of alerts."""

import time
from collections.abc import Sequence

from anubis.analysis.verdict_text import effect_text
from anubis.cli.views import tables, units
from anubis.model.alert import Alert, AlertKind
from anubis.reporting.markup import one_line, short_subject

_COLUMNS = (
    tables.Column(title="ALERT"),
    tables.Column(title="STATE"),
    tables.Column(title="KIND"),
    tables.Column(title="BENCHMARK", cut=True),
    tables.Column(title="SINCE", cut=True),
    tables.Column(title="METRIC", cut=True),
    tables.Column(title="EFFECT"),
    tables.Column(title="CHANGED"),
    tables.Column(title="WHY", cut=True),
)
_BAD = {AlertKind.REGRESSION, AlertKind.FAILURE, AlertKind.THRESHOLD, AlertKind.DRIFT}


def show(found: Sequence[Alert]) -> None:
    """Print a line for each alert."""
    tables.show(_COLUMNS, map(_cells, found))


def _cells(alert: Alert) -> Sequence[tables.Cell]:
    first = max(alert.rows, key=lambda row: (row.kind is alert.kind, abs(row.effect)), default=None)
    more = len(alert.rows) - 1
    metric = "" if first is None else one_line(first.metric, 60) + (f" and {more} more" if more else "")
    colour = "red" if alert.kind in _BAD else "green" if alert.kind is AlertKind.IMPROVEMENT else "yellow"
    return [
        alert.id,
        alert.state.value,
        tables.Styled(alert.kind.value, colour),
        one_line(alert.benchmark, 60),
        short_subject(alert.first_new),
        metric,
        "" if first is None else effect_text(first.effect, first.interval),
        units.short_moment(alert.changed_s, now_s=time.time()),
        one_line(alert.why, 80),
    ]
