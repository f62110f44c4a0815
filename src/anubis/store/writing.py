"""Points, samples, alerts and sessions of measured runs, written in the transaction of a step or an import."""

from collections.abc import Mapping, Sequence
from typing import Any

from anubis.model.errors import ConflictError
from anubis.model.metric import Better
from anubis.model.points import Period, Point, SampleBlock, chains
from anubis.model.run import Step
from anubis.store.dictionaries import Dictionaries
from anubis.store.rows import alert_values
from anubis.store.samples import SampleWriter
from anubis.store.sql.codes import BETTER_CODES
from anubis.store.sql.database import Session, chunked
from anubis.store.text import clean


class Measured:
    """Points, samples and alerts of a step. Everything slow happens here, before the transaction."""

    def __init__(self, dictionaries: Dictionaries, step: Step) -> None:
        self._anew = step.next_attempt
        self._points: list[dict[str, Any]] = []
        self._samples: list[SampleWriter] = []
        self._alerts = [alert_values(alert) for alert in sorted(step.alerts, key=lambda alert: alert.id)]
        self._names = {clean(point.metric) for point in step.points}
        if not step.points and not step.samples:
            return
        metrics = _metrics(dictionaries, step.samples)
        self._samples = [
            SampleWriter(block, metrics[clean(block.metric), clean(block.units)]) for block in step.samples
        ]
        self._points = point_rows(dictionaries, step.points)

    def write(self, session: Session, run: int) -> None:
        """In place of what was stored of the same metrics; of everything, when a new attempt begins."""
        if self._anew:
            for statement in ("forget_points", "forget_samples", "forget_summaries"):
                session.write(statement, run=run)
            session.write("put_series", run=run, series=None)
        if self._points:
            measured = session.rows("measured", run=run)
            for numbers in chunked(row.metric for row in measured if row.name in self._names):
                session.write("remove_points", run=run, numbers=numbers)
            write_points(session, [{"run": run, **values} for values in self._points])
        for samples in self._samples:
            samples.write(session, run)
        write_alerts(session, self._alerts)


def write_points(session: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store points (``point_rows`` with the numbers of their runs), and their series with each run."""
    session.write_all("add_point", rows)
    series = {row["run"]: row["series"] for row in rows}
    session.write_all("put_series", [{"run": run, "series": no} for run, no in series.items()])


def write_alerts(session: Session, alerts: Sequence[Mapping[str, Any]]) -> None:
    """Store alerts (``alert_values``). Raises ConflictError if the stored version of one is not the expected one."""
    for values in alerts:
        if not session.rows("put_alert", **values):
            raise ConflictError(f"another writer changed alert {values['id']}", remedy="try again")


def point_rows(dictionaries: Dictionaries, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Parameters of ``add_point`` for each of the points, except the number of the run."""
    metrics = _metrics(dictionaries, points)
    series = dictionaries.series((point.series_key, point.fingerprint) for point in points)
    words = dictionaries.words(point.subject for point in points)
    return [
        _point_values(point)
        | {
            "metric": metrics[clean(point.metric), clean(point.units)],
            "series": series[point.series_key, point.fingerprint],
            "subject": words[clean(point.subject)],
        }
        for point in points
    ]


def _metrics(
    dictionaries: Dictionaries, measured: Sequence[Point | SampleBlock]
) -> dict[tuple[str, str], int]:
    return dictionaries.metrics((clean(item.metric), clean(item.units)) for item in measured)


def _point_values(point: Point) -> dict[str, Any]:
    return {
        "value": point.value,
        "spread": point.spread,
        "count": point.count,
        "better": BETTER_CODES[Better(point.better)],
        "order_s": point.order_s,
        "contaminated": int(point.contaminated),
    }


def assign_sessions(session: Session, periods: Mapping[int, Period], pause_s: float) -> None:
    """Store the session of each run, by its number.

    A run extends a session near it, and joins two sessions if it lies between them, so that sessions depend only on the
    stored runs and not on the order in which they are stored.
    """
    if not periods:
        return
    session.rows("count_events", count=0)  # one writer at a time
    found: list[tuple[Period, int | None, int | None]] = [
        (period, None, run) for run, period in periods.items()
    ]
    for machine in sorted({period.machine for period in periods.values()}):
        of_machine = [period for period in periods.values() if period.machine == machine]
        rows = session.rows(
            "sessions_near",
            machine=clean(machine),
            after_s=min(period.start_s for period in of_machine) - pause_s,
            before_s=max(period.end_s for period in of_machine) + pause_s,
        )
        found += [
            (Period(machine=machine, start_s=row.start_s, end_s=row.end_s), row.no, None) for row in rows
        ]
    assigned = []
    for chain in chains(found, lambda each: each[0], pause_s):
        whole = Period(
            machine=chain[0][0].machine,
            start_s=min(period.start_s for period, _, _ in chain),
            end_s=max(period.end_s for period, _, _ in chain),
        )
        no = _stored_session(session, whole, {no: period for period, no, _ in chain if no is not None})
        assigned += [{"session": no, "run": run} for _, _, run in chain if run is not None]
    session.write_all("put_session", assigned)


def _stored_session(session: Session, whole: Period, known: Mapping[int, Period]) -> int:
    """The number of the session with this extent; ``known`` are the stored sessions that it replaces."""
    if not known:
        added = session.row(
            "add_session", machine=clean(whole.machine), start_s=whole.start_s, end_s=whole.end_s
        )
        return int(added.no)
    kept, *others = sorted(known)
    for no in others:
        session.write("move_runs", no=no, into=kept)
        session.write("remove_session", no=no)
    if known[kept] != whole:
        session.write("extend_session", no=kept, start_s=whole.start_s, end_s=whole.end_s)
    return kept
