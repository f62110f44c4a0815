import pytest

from anubis.cli.views.remaining_time import remaining_s, text
from anubis.model.status import Status
from anubis.testing import a_run

NOW_S = 1000.0


def ended(took_s, status=Status.SUCCEEDED, **cell):
    return a_run(status=status, placed_s=NOW_S - took_s, ended_s=NOW_S, cell=cell)


def under_way(for_s, **cell):
    return a_run(status=Status.WATCH, placed_s=NOW_S - for_s, cell=cell)


def waiting(**cell):
    return a_run(status=Status.PLACE, placed_s=None, cell=cell)


def left(*runs, progress=()):
    return remaining_s(runs, {run.id: share for run, share in progress}, now_s=NOW_S)


def test_nothing_is_estimated_before_anything_has_ended():
    assert left(under_way(5), waiting()) is None
    assert left(ended(3, Status.FAILED), waiting()) is None, "a failure says nothing about a success"


def test_a_run_takes_as_long_as_those_with_its_axis_values():
    assert left(ended(10, SIZE=1), ended(40, SIZE=2), waiting(SIZE=1), waiting(SIZE=2)) == 50
    assert left(ended(10, SIZE=1), ended(40, SIZE=2), waiting(SIZE=3)) == 25


def test_rounds_are_the_same_run():
    assert left(ended(10, round=0), waiting(round=1), waiting(round=2)) == 20


def test_what_a_run_has_used_is_taken_off():
    assert left(ended(10), under_way(4), waiting()) == 16
    assert left(ended(10), under_way(14)) == 0


def test_repeats_that_have_ended_are_a_measure():
    run = under_way(30)
    assert left(run, progress=[(run, 0.25)]) == 90
    assert left(run, progress=[(run, 0.0)]) is None


def test_runs_under_way_share_the_work():
    assert left(ended(10), under_way(0), under_way(0), waiting(), waiting()) == 20


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (None, ""),
        (0.0, ""),
        (12.2, "about 13 s left"),
        (184.0, "about 3 min left"),
        (3700, "about 1 h 2 min left"),
    ],
)
def test_an_estimate_is_coarse(seconds, expected):
    assert text(seconds) == expected
