from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.record import units

UNITS = st.sampled_from(sorted(units._TABLE))


@pytest.mark.parametrize(
    ("one", "other", "fraction"),
    [
        ("ms", "s", Fraction(1, 1000)),
        ("s", "us", Fraction(10**6)),
        ("h", "min", Fraction(60)),
        ("MiB", "bytes", Fraction(1 << 20)),
        ("GB/s", "MB/s", Fraction(1000)),
        ("tokens/s", "tokens/s", Fraction(1)),
        ("s", "bytes", None),
        ("MB/s", "MB/op", None),
        ("s", "none", None),
        ("tokens", "requests", None),
        ("KB", "MB", None),
    ],
)
def test_units_of_one_quantity_are_converted(one, other, fraction):
    found = units.ratio(one, other)
    assert (None if found is None else Fraction(*found)) == fraction


@given(one=UNITS, other=UNITS)
def test_the_way_back_is_the_inverse(one, other):
    there, back = units.ratio(one, other), units.ratio(other, one)
    assert (there is None) == (back is None)
    assert there is None or Fraction(*there) * Fraction(*back) == 1
