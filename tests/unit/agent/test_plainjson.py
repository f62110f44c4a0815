import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.agent.plainjson import dumps

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_json_reads_what_it_writes(value):
    assert json.loads(dumps(value)) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_null(value):
    assert dumps([value]) == "[null]"


def test_tuples_are_lists():
    assert dumps((1, "a")) == '[1, "a"]'


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="bytes"):
        dumps(b"x")
