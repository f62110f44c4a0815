"""Warnings about sides that are treated differently."""

from itertools import product

import pytest

from anubis.submission.side_by_side import differences
from anubis.testing import a_descriptor, a_run


def sides(*folders, rounds=2):
    descriptor = a_descriptor("bench")
    return [
        a_run(descriptor, folder=folder, cell={"file": str(number), "round": round_number})
        for round_number, (number, folder) in product(range(rounds), enumerate(folders))
    ]


def found(runs, *, rounds=2, in_folders=True):
    return [problem.message for problem in differences(runs, rounds=rounds, in_folders=in_folders)]


def test_folders_with_paths_of_equal_length_are_equal():
    assert found(sides("/work/old", "/work/new")) == []
    assert found(sides("/work/new", "/work/new")) == []


def test_the_difference_is_said_once_with_both_paths():
    (message,) = found(sides("/work/base", "/work/new", rounds=4), rounds=4)
    assert "/work/new and /work/base differ in length (9 and 10 bytes)" in message


def test_bytes_count_not_characters():
    assert found(sides("/work/nøw", "/work/newx")) == []


@pytest.mark.parametrize("in_folders", [True, False])
def test_containers_have_paths_of_their_own(in_folders):
    assert bool(found(sides("/a", "/long"), in_folders=in_folders)) == in_folders


def test_one_file_has_no_sides():
    runs = [a_run(a_descriptor("bench"), folder=folder, cell={"round": 0}) for folder in ("/a", "/long")]
    assert found(runs, rounds=3) == []


@pytest.mark.parametrize(("rounds", "is_odd"), [(1, False), (2, False), (3, True), (10, False), (11, True)])
def test_an_odd_number_of_rounds_is_not_balanced(rounds, is_odd):
    assert [message for message in found(sides("/a", "/b"), rounds=rounds) if "rounds" in message] == (
        [f"with {rounds} rounds the first file is measured first once more often than the others"]
        if is_odd
        else []
    )
