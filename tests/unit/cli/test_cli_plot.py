import click
from hypothesis import given
from hypothesis import strategies as st

from anubis.cli.views.plot import strips
from anubis.model.verdict import Sides

VALUES = st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30)


def drawn(baseline, contender, **more):
    sides = Sides(metric="rate", baseline=tuple(baseline), contender=tuple(contender), **more)
    return [click.unstyle(line) for line in strips(sides)]


def test_every_run_is_a_dot_and_the_median_a_bar():
    title, old, new, axis = drawn([1, 2, 3], [3, 4, 5], units="img/s")
    assert title == "rate [img/s]"
    assert old.split("  ")[1:] != new.split("  ")[1:]
    assert old.count("|") == new.count("|") == 1
    assert old.count(".") == new.count(".") == 2
    assert axis.split() == ["1", "5"]


def test_equal_values_stand_in_the_middle():
    _, old, new, _ = drawn([7, 7], [7])
    assert old.index("|") == new.index("|")


def test_a_side_without_a_value_draws_nothing():
    assert drawn([], [1]) == []


@given(VALUES, VALUES)
def test_any_values_fit_eighty_columns(baseline, contender):
    lines = drawn(baseline, contender)
    assert len(lines) == 4
    assert all(len(line) <= 80 for line in lines)
