import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.cli.views.chart import CHANGE, HEIGHT, POINT, chart


def drawn(values, changes=(), width=80, unit="s"):
    unit_line, *lines = [click.unstyle(line) for line in chart(values, list(changes), unit=unit, width=width)]
    return unit_line, lines


def test_the_extremes_stand_beside_their_rows():
    unit, lines = drawn([1.0, 2.0, 3.0])
    assert unit.strip() == "s"
    assert lines[0].startswith("3 ")
    assert lines[-1].startswith("1 ")
    assert lines[0].rstrip().endswith(POINT), "the newest point is the highest"


def test_a_change_is_a_bar_where_the_new_level_begins():
    _, lines = drawn([1.0] * 10 + [2.0] * 10, [10])
    columns = {line.index(CHANGE) for line in lines if CHANGE in line}
    assert len(columns) == 1
    (column,) = columns
    assert lines[0].find(POINT) in {column, column + 1}


def test_each_mode_is_a_line_instead_of_the_level():
    def lines(modes):
        drawn = chart([1.0, 9.0] * 6 + [1.0, 12.0], [], unit="none", width=80, modes=modes)
        return ["-" in click.unstyle(line) for line in list(drawn)[1:]]

    assert lines([]).count(True) == 1
    assert lines([1.0, 9.0]).count(True) == 2


@pytest.mark.parametrize("values", [[5.0], [5.0] * 30, [0.0, 0.0], [-1.0, 1.0], [1e-300, 1e300]])
def test_flat_short_and_extreme_series_are_drawn(values):
    _, lines = drawn(values)
    assert sum(line.count(POINT) for line in lines) >= 1


@given(
    st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=300),
    st.integers(20, 200),
    st.lists(st.integers(1, 299), unique=True, max_size=4),
)
def test_it_is_never_wider_than_the_terminal(values, width, changes):
    _, lines = drawn(values, sorted(at for at in changes if at < len(values)), width=width)
    assert len(lines) == HEIGHT
    assert max(map(len, lines)) <= width
    assert any(POINT in line for line in lines)
