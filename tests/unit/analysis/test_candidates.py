"""The fit against brute force, and one series against many."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.analysis.changes import dynamic_program
from anubis.analysis.changes.candidates import fit
from anubis.analysis.changes.dynamic_program import chain, sweep_many, sweep_one, sweep_through, trace
from anubis.analysis.changes.levels import RUNG, Costs, rungs_for

rows = st.lists(st.floats(-6, 6), min_size=2, max_size=5)


def cheapest(points, levels, penalty, bound):
    """Least cost over all ways to give every point a level."""
    return min(
        sum(min((x - level) ** 2, bound) for x, level in zip(points, way, strict=True))
        + penalty * sum(a != b for a, b in itertools.pairwise(way))
        for way in itertools.product(levels, repeat=len(points))
    )


@settings(max_examples=30)
@given(rows, st.floats(0.5, 8), st.floats(1, 9))
def test_no_history_is_cheaper_than_the_one_it_finds(points, penalty, bound):
    rungs = np.array([-10.0, -3.0, 0.0, 4.0])
    table, limits = sweep_one(np.array(points), None, rungs, penalty, bound)
    assert table[-1].min() == pytest.approx(cheapest(points, rungs * RUNG, penalty, bound))
    changes = trace(table, limits)
    edges = [0, *changes, len(points)]
    cost = penalty * len(changes) + sum(
        min(sum(min((x - rung * RUNG) ** 2, bound) for x in points[a:b]) for rung in rungs)
        for a, b in itertools.pairwise(edges)
    )
    assert cost == pytest.approx(table[-1].min())


@settings(max_examples=30)
@given(st.integers(0, 1000), st.integers(1, 5), st.integers(2, 40))
def test_many_series_cost_what_each_costs_alone(seed, series, points):
    random = np.random.default_rng(seed)
    scaled = 3 * random.standard_normal((series, points))
    weights = np.exp(random.standard_normal((series, points)))
    rungs = np.tile(np.arange(-12.0, 13.0), (series, 1))
    penalty, bound = random.uniform(1, 9, series), random.uniform(2, 9, series)
    tables, limits = sweep_many(scaled, weights, rungs, penalty, bound)
    for at in range(series):
        table, limit = sweep_one(scaled[at], weights[at], rungs[at], float(penalty[at]), float(bound[at]))
        assert (tables[:, at] == table).all()
        assert (limits[:, at, 0] == limit).all()


def test_a_lone_outlier_is_no_segment_and_three_are():
    costs = Costs(np.array([9.0]), np.array([8.0]))
    points = np.zeros((1, 30))
    points[0, 12] = 50
    assert fit(points, None, costs) == [[]]
    points[0, 12:15] = 50
    assert fit(points, None, costs) == [[12, 15]]


def test_changes_too_near_the_ends_are_not_offered():
    points = np.zeros((1, 30))
    points[0, 28:] = 50
    assert fit(points, None, Costs(np.array([9.0]), np.array([8.0]))) == [[]]


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=8), st.floats(0.5, 4))
def test_rungs_are_those_near_a_point(points, reach):
    rungs = rungs_for(np.array(points), reach)
    every = np.arange(-100.0, 101.0)
    distance = np.abs(every[:, None] * RUNG - np.array(points)).min(axis=1)
    assert set(every[distance < reach - 1e-9]) <= set(rungs)
    assert set(rungs) <= set(every[distance < reach + 1e-9])
    assert (np.diff(rungs) > 0).all()


def test_far_apart_points_need_few_rungs():
    assert len(rungs_for(np.array([-1e6, 0.0, 1e6]), 3.0)) < 60


@pytest.mark.parametrize("block", [1, 7, 50, 10**6])
def test_blocks_change_nothing(monkeypatch, block):
    monkeypatch.setattr(dynamic_program, "BLOCK", 30 * block)
    random = np.random.default_rng(6)
    points = random.standard_normal(80) + 4 * (np.arange(80) > 40)
    rungs, weights = np.arange(-12.0, 18.0), np.exp(random.standard_normal(80))
    table, limits = sweep_one(points, weights, rungs, 6.0, 8.0)
    ending = sweep_through(points, weights, rungs, 6.0, 8.0)
    assert (ending.cost == table[-1]).all()
    assert ending.limit == limits[-1]
    assert chain(ending.origins) == trace(table, limits)


def test_a_wild_series_is_judged_in_little_memory(monkeypatch):
    monkeypatch.setattr(dynamic_program, "BLOCK", 20_000)
    wild = np.random.default_rng(7).standard_cauchy(400)
    wild[200:] += 1000
    assert fit(wild[None], None, Costs(np.array([12.0]), np.array([7.0]))) == [[200]]
