"""The tables of alerts and of their deliveries."""

import time
from collections.abc import Sequence

from anubis.analysis.quantities import effect_text
from anubis.cli.views import tables, units
from anubis.model.alert import Alert, AlertKind
from anubis.model.delivery import Delivery, DeliveryStatus, redacted
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
_DELIVERY_COLUMNS = (
    tables.Column(title="TO", cut=True),
    tables.Column(title="STATE"),
    tables.Column(title="DELIVERY"),
    tables.Column(title="ATTEMPTS", right=True),
    tables.Column(title="WHEN"),
    tables.Column(title="LAST ERROR", cut=True),
)
_DELIVERY_COLOURS = {
    DeliveryStatus.PENDING: "yellow",
    DeliveryStatus.DELIVERED: "green",
    DeliveryStatus.REFUSED: "red",
}
_BAD = {AlertKind.REGRESSION, AlertKind.FAILURE, AlertKind.THRESHOLD, AlertKind.DRIFT}


def show(alerts: Sequence[Alert]) -> None:
    """Print a line for each alert."""
    tables.show(_COLUMNS, map(_cells, alerts))


def show_deliveries(deliveries: Sequence[Delivery]) -> None:
    """Print a line for each delivery; addresses may hold secrets, so they are redacted."""
    tables.show(_DELIVERY_COLUMNS, map(_delivery_cells, deliveries))


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


def _delivery_cells(delivery: Delivery) -> Sequence[tables.Cell]:
    at_s = delivery.due_s if delivery.ended_s is None else delivery.ended_s
    due = "due " if delivery.ended_s is None else ""
    return [
        one_line(redacted(delivery.to), 60),
        delivery.state.value,
        tables.Styled(delivery.status.value, _DELIVERY_COLOURS[delivery.status]),
        str(delivery.attempts),
        f"{due}{units.short_moment(at_s, now_s=time.time())}",
        one_line(delivery.error, 200),
    ]
