"""Assigns runs to sessions."""

from collections.abc import Mapping

from anubis.model.points import Period, chains
from anubis.store.sql.database import Session
from anubis.store.text import clean


def assign(session: Session, periods: Mapping[int, Period], pause_s: float) -> None:
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
        no = _stored(session, whole, {no: period for period, no, _ in chain if no is not None})
        assigned += [{"session": no, "run": run} for _, _, run in chain if run is not None]
    session.write_all("put_session", assigned)


def _stored(session: Session, whole: Period, known: Mapping[int, Period]) -> int:
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
