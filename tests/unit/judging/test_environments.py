"""The variables in which two sides differ."""

from anubis.judging.environments import Difference, differences
from anubis.record.environment import RecordedEnvironment


def side(*rows, key="k", secrets=()):
    """Variables in upper case have values, those in lower case digests."""
    return [
        RecordedEnvironment(
            {name: value for name, value in row.items() if name.isupper()},
            {name: value for name, value in row.items() if name.islower()},
            frozenset(secrets),
            key,
        )
        for row in rows
    ]


def test_values_that_differ_between_the_sides():
    old = side({"A": "1", "B": "1", "c": "x"}, {"A": "1", "B": "2", "c": "x"})
    assert differences(old, side({"A": "1", "B": "2", "c": "y"})) == [
        Difference(name="B", baseline=("1", "2"), contender=("2",)),
        Difference(name="c", baseline=None, contender=None),
    ]


def test_an_unset_variable_differs_from_a_set_one():
    assert differences(side({}), side({"A": ""})) == [Difference(name="A", baseline=(None,), contender=("",))]


def test_unset_comes_before_the_values_of_a_side():
    (found,) = differences(side({"A": "2"}, {}, {"A": "1"}), side({"A": "1"}))
    assert found.baseline == (None, "1", "2")


def test_equal_sides_do_not_differ():
    rows = side({"A": "1"}, {"A": "2", "b": "x"})
    assert differences(rows, rows[::-1] * 3) == []


def test_a_side_without_records_is_not_compared():
    assert differences([], side({"A": "1"})) == []
    assert differences(side({"A": "1"}), []) == []


def test_digests_of_different_keys_are_compared_only_by_name():
    other = side({"a": "y", "b": "z"}, key="other")
    assert [each.name for each in differences(side({"a": "x"}), other)] == ["b"]


def test_of_secrets_only_their_presence_is_compared():
    assert differences(side({}, secrets=["T"]), side({}, secrets=["T"])) == []
    assert [each.name for each in differences(side({}, secrets=["T"]), side({}))] == ["T"]
