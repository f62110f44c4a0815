"""The contract of sessions as tests. A subclass has a fixture ``store`` with ``runs`` and ``points`` in it."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest

from anubis.model.ids import new_run_id
from anubis.model.points import SESSION_PAUSE_S, Period, session_id
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_point, a_run
from anubis.testing.contracts.runs import finished

#: Start and end of measurements, in units of the longest pause, and the start of their session.
MEASURED = ((0.0, 0.5, 0.0), (1.5, 1.5, 0.0), (1.6, 4.0, 0.0), (5.0, 5.1, 0.0), (6.2, 6.3, 6.2))


def a_period(start: float = 0.0, end: float | None = None, machine: str = "host") -> Period:
    """A period from start to end, in units of the longest pause after ``NOW_S``."""
    end = start if end is None else end
    return Period(
        machine=machine, start_s=NOW_S + start * SESSION_PAUSE_S, end_s=NOW_S + end * SESSION_PAUSE_S
    )


def sessions(store: Any, periods: Sequence[Period]) -> list[str]:
    """The sessions of new runs that were measured in these periods and stored in this order."""
    ids = []
    for period in periods:
        run = a_run(id=new_run_id())
        finished(store, run, points=(a_point(run),), period=period)
        ids.append(run.id)
    found = {point.run_id: point.session for point in store.points.of(ids)}
    return [found[run_id] for run_id in ids]


class SessionsContract:
    """Sessions of measured runs."""

    @pytest.mark.parametrize("order", list(permutations(range(5)))[::7])
    def test_sessions_do_not_depend_on_the_order_of_storing(self, store: Any, order: Sequence[int]) -> None:
        found = sessions(store, [a_period(*MEASURED[at][:2]) for at in order])
        start_s = [NOW_S + MEASURED[at][2] * SESSION_PAUSE_S for at in order]
        assert found == [session_id("host", each) for each in start_s]

    def test_each_machine_has_its_own_sessions(self, store: Any) -> None:
        found = sessions(store, [a_period(machine=machine) for machine in ("one", "two", "one")])
        assert found[0] == found[2] != found[1]

    def test_every_way_of_reading_names_the_session(self, store: Any) -> None:
        run = a_run()
        finished(store, run, points=(a_point(run), a_point(run, "other")), period=a_period())
        name = session_id("host", NOW_S)
        assert [point.session for point in store.points.of([run.id])] == [name, name]
        assert [point.session for point in store.points.history(run.series_key, "latency")] == [name]
        blocks = store.points.histories([run.series_key], ["latency", "other"])
        assert [block.sessions for block in blocks] == [(name,), (name,)]

    def test_a_run_without_a_period_has_no_session(self, store: Any) -> None:
        run = a_run()
        finished(store, run, points=(a_point(run),))
        assert [point.session for point in store.points.of([run.id])] == [""]

    def test_imported_runs_get_sessions_from_their_times(self, store: Any) -> None:
        runs = [
            a_run(
                status=Status.SUCCEEDED,
                placed_s=NOW_S + offset * SESSION_PAUSE_S,
                ended_s=NOW_S + (offset + 0.1) * SESSION_PAUSE_S,
            )
            for offset in (3.0, 0.0, 1.0)
        ]
        store.runs.add_finished([(run, "") for run in runs], [a_point(run) for run in runs])
        found = {point.run_id: point.session for point in store.points.of([run.id for run in runs])}
        assert found[runs[1].id] == found[runs[2].id] == session_id("a-machine", NOW_S)
        assert found[runs[0].id] == session_id("a-machine", NOW_S + 3 * SESSION_PAUSE_S)
