"""The search finds the first bad commit with few runs, on lines and on graphs, through noise and broken commits."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.bisection.commit_search import Side, first_runs, next_runs, search, side_of


def line(count):
    """Candidates c1 (oldest) to cN (the bad one), each the child of the one before."""
    return {f"c{at}": [f"c{at - 1}"] for at in range(1, count + 1)}


def found(parents, bad, side):
    """The suspects that are left, and what was asked."""
    hunt, asked = search(parents, bad), []
    while (commit := hunt.next()) is not None:
        asked.append(commit)
        hunt = hunt.marked(commit, side(commit))
    return hunt.suspects, asked


@given(st.integers(1, 2000), st.data())
def test_a_line_is_halved_every_time(count, data):
    first = data.draw(st.integers(1, count))
    suspects, asked = found(
        line(count), f"c{count}", lambda c: Side.BAD if int(c[1:]) >= first else Side.GOOD
    )
    assert suspects == [f"c{first}"]
    assert len(asked) <= math.ceil(math.log2(count)) if count > 1 else asked == []
    assert len(set(asked)) == len(asked)


@given(st.integers(2, 60), st.data())
def test_commits_that_cannot_be_measured_are_passed_by(count, data):
    first = data.draw(st.integers(1, count))
    broken = data.draw(st.sets(st.integers(1, count - 1)))

    def side(commit):
        at = int(commit[1:])
        return Side.SKIPPED if at in broken else Side.BAD if at >= first else Side.GOOD

    suspects, asked = found(line(count), f"c{count}", side)
    assert f"c{first}" in suspects
    numbers = [int(commit[1:]) for commit in suspects]
    assert set(numbers[:-1]) <= broken, "what is left beside the last is what could not be measured"
    assert len(set(asked)) == len(asked)


@st.composite
def graphs(draw):
    """A history with branches and merges: candidates in topological order, the last one a child of all others."""
    count = draw(st.integers(1, 40))
    parents = {}
    for at in range(count):
        most = min(at, 3)
        earlier = draw(st.lists(st.integers(0, at - 1), max_size=most, unique=True)) if at else []
        parents[f"c{at}"] = [f"c{one}" for one in earlier] or ["good"]
    parents["bad"] = list(parents)
    return parents


@given(graphs(), st.data())
def test_a_graph_is_searched_like_a_line(parents, data):
    culprit = data.draw(st.sampled_from(list(parents)))

    def is_bad(commit):
        return commit == culprit or any(is_bad(parent) for parent in parents.get(commit, []))

    suspects, asked = found(parents, "bad", lambda c: Side.BAD if is_bad(c) else Side.GOOD)
    assert suspects == [culprit]
    assert len(asked) < len(parents)


def test_the_bad_commit_has_to_be_a_candidate():
    with pytest.raises(ValueError, match="c9"):
        search(line(3), "c9")


def test_what_is_left_is_counted():
    assert [search(line(n), f"c{n}").steps_left for n in (1, 2, 3, 8, 9)] == [0, 1, 2, 3, 4]


class Bench:
    """Noisy measurements of commits on two levels."""

    def __init__(self, seed, noise, effect):
        self.random, self.noise, self.effect = random.Random(seed), noise, effect
        self.runs = 0

    def values(self, bad, count):
        self.runs += count
        level = 100 * (1 + self.effect if bad else 1)
        return [level * math.exp(self.noise * self.random.gauss(0, 1)) for _ in range(count)]

    def side(self, bad, good_values, bad_values, most=16):
        have = first_runs(len(good_values) + len(bad_values))
        values = self.values(bad, have)
        while True:
            side, more = side_of(values, good_values, bad_values)
            if side is not None or have >= most:
                return side or Side.SKIPPED
            wanted = next_runs(have, more, most)
            values += self.values(bad, wanted - have)
            have = wanted


@pytest.mark.parametrize("effect", [-0.3, -0.05, 0.05, 0.4])
def test_a_single_run_tells_when_the_noise_is_small(effect):
    bench = Bench(1, 0.002, effect)
    good, bad = bench.values(False, 3), bench.values(True, 3)
    for is_bad in (False, True):
        assert side_of(bench.values(is_bad, 1), good, bad)[0] is (Side.BAD if is_bad else Side.GOOD)


def test_the_noisier_the_more_runs():
    used = {}
    for noise in (0.005, 0.02, 0.04):
        bench = Bench(2, noise, 0.1)
        good, bad = bench.values(False, 6), bench.values(True, 6)
        bench.runs = 0
        for at in range(30):
            bench.side(at % 2 == 0, good, bad)
        used[noise] = bench.runs
    assert used[0.005] == 30
    assert used[0.005] <= used[0.02] < used[0.04]


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 64), st.data())
def test_the_first_bad_commit_is_found_through_noise(seed, count, data):
    """5 % on 1 % of noise: wrong sides are possible, and so rare that none is seen in these searches."""
    first = data.draw(st.integers(1, count))
    bench = Bench(seed, 0.01, 0.08)
    good, bad = bench.values(False, 5), bench.values(True, 5)
    bench.runs = 0
    suspects, asked = found(line(count), f"c{count}", lambda c: bench.side(int(c[1:]) >= first, good, bad))
    assert f"c{first}" in suspects
    assert len(suspects) <= 3
    assert bench.runs <= 16 * len(asked)


def test_wrong_sides_are_rare():
    wrong = 0
    for seed in range(400):
        bench = Bench(seed, 0.01, 0.05)
        good, bad = bench.values(False, 3), bench.values(True, 3)
        is_bad = seed % 2 == 0
        wrong += bench.side(is_bad, good, bad) is (Side.GOOD if is_bad else Side.BAD)
    assert wrong <= 8, "2 %"


@pytest.mark.parametrize(
    ("good", "bad", "values", "side"),
    [
        ([0, 0, 0], [1, 1, 1], [1], Side.BAD),
        ([-3, -3, -3], [3, 3, 3], [-3], Side.GOOD),
        ([5, 5, 5], [4, 4, 4], [4], Side.BAD),
        ([5, 5, 5], [4, 4, 4], [6], Side.GOOD),
        ([5, 5, 5], [5, 5, 5], [5], None),
        ([5, 6, 7], [9, 10, 11], [], None),
    ],
)
def test_counts_signs_and_ties(good, bad, values, side):
    assert side_of(values, good, bad)[0] is side


NOISY, QUIET = [85.0, 100.0, 117.0], [129.8, 130.0, 130.2]


@pytest.mark.parametrize(
    ("good", "bad", "side"), [(NOISY, QUIET, Side.BAD), (QUIET, NOISY, Side.GOOD)], ids=["good", "bad"]
)
def test_either_reference_may_decide(good, bad, side):
    """The other one is too noisy: against it alone the commit is undecided."""
    values = [129.9, 130.1, 130.0]
    assert side_of(values, good, bad)[0] is side


def test_runs_are_added_by_need_and_within_the_limit():
    assert next_runs(1, None, 10) == 2
    assert next_runs(2, 1, 10) == 3
    assert next_runs(4, 100, 10) == 8
    assert next_runs(8, None, 10) == 10
    assert [first_runs(known) for known in (0, 5, 6)] == [3, 3, 1]
