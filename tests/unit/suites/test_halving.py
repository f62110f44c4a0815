"""Successive halving: ranks, ties, missing values, and that the result depends only on what is stored."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.descriptor import Halving
from anubis.model.metric import Better
from anubis.suites.halving import Measured, halve

SEED = "env.vars.SEED"
SEEDS = Halving(metric="m")


def grid(*, names="abcd", seeds=(1, 2, 3)):
    return [{"name": name, SEED: seed} for name, seed in itertools.product(names, seeds)]


def run_out(cells, value, rule=SEEDS, better=Better.HIGHER):
    """Measure every cell that is allowed until nothing changes; the final state and the cells in order."""
    measured, order = {}, []
    while True:
        state = halve(cells, measured, rule, better)
        new = sorted(state.allowed - measured.keys())
        if not new:
            return state, order
        order += new
        measured |= {place: Measured(final=True, value=value(cells[place])) for place in new}


def names_of(cells, places):
    return {cells[place]["name"] for place in places}


def test_half_of_the_combinations_goes_on_after_every_rung():
    cells = grid()
    state, order = run_out(cells, lambda cell: "abcd".index(cell["name"]))
    assert [cells[place] for place in order[4:]] == [
        {"name": "c", SEED: 2}, {"name": "d", SEED: 2}, {"name": "d", SEED: 3},
    ]  # fmt: skip
    assert state.over
    assert names_of(cells, state.cut) == {"a", "b", "c"}


def test_a_cut_has_its_reason():
    cells = grid()
    state, _ = run_out(cells, lambda cell: "abcd".index(cell["name"]))
    cut = state.cut[1]
    assert (cut.rung, cut.at, cut.rank, cut.ranked, cut.kept) == (1, 1, 4, 4, 2)
    assert (cut.score, cut.limit) == (0, 2)


def test_lower_may_be_better():
    cells = grid()
    state, _ = run_out(cells, lambda cell: "abcd".index(cell["name"]), better=Better.LOWER)
    assert names_of(cells, state.cut) == {"b", "c", "d"}


def test_no_rung_is_decided_before_all_its_cells_have_ended():
    cells = grid()
    measured = {place: Measured(final=place != 9, value=1.0) for place in (0, 3, 6, 9)}
    state = halve(cells, measured, SEEDS, Better.HIGHER)
    assert (state.allowed, state.cut, state.over) == ({0, 3, 6, 9}, {}, False)


def test_equal_values_remain_together():
    state, order = run_out(grid(), lambda cell: 1.0)
    assert state.cut == {}
    assert len(order) == 12


@pytest.mark.parametrize("missing", [None, math.nan])
def test_a_combination_without_a_value_cannot_be_ranked(missing):
    cells = grid()
    state, _ = run_out(cells, lambda cell: missing if cell["name"] == "d" else 1.0)
    assert state.cut[10].rank is None
    assert names_of(cells, state.cut) == {"d"}


def test_without_any_value_nothing_goes_on():
    state, order = run_out(grid(), lambda cell: None)
    assert (len(order), len(state.cut), state.over) == (4, 8, True)


def test_seeds_are_averaged_and_budgets_are_not():
    # "a" is best at first, "b" by far best later.
    values = {("a", 1): 4, ("a", 2): 3, ("b", 1): 2, ("b", 2): 9, ("c", 1): 1, ("c", 2): 1}
    cells = grid(names="abc")
    state, _ = run_out(cells, lambda cell: values.get((cell["name"], cell[SEED]), 5))
    assert (state.cut[2].rung, state.cut[2].score) == (2, 3.5)
    epochs = [{"name": cell["name"], "epochs": cell[SEED]} for cell in cells]
    rule = Halving(metric="m", along="epochs")
    state, _ = run_out(epochs, lambda cell: values.get((cell["name"], cell["epochs"]), 5), rule)
    assert (state.cut[2].rung, state.cut[2].score) == (2, 3)


def test_cells_off_the_axis_are_always_measured():
    cells = [*grid(names="ab"), {"name": "z"}]
    state, order = run_out(cells, lambda cell: 1.0 if cell["name"] == "a" else 0.0)
    assert len(cells) - 1 in order
    assert len(cells) - 1 not in state.cut


@given(
    st.integers(1, 6),
    st.integers(1, 4),
    st.floats(0.05, 0.95),
    st.data(),
    st.sampled_from([Better.HIGHER, Better.LOWER]),
)
def test_the_best_is_never_cut_and_every_cell_is_measured_or_cut(count, seeds, keep, data, better):
    cells = grid(names="abcdef"[:count], seeds=range(seeds))
    level = {name: data.draw(st.integers(0, 3)) for name in "abcdef"}
    state, order = run_out(
        cells, lambda cell: float(level[cell["name"]]), Halving(metric="m", keep=keep), better
    )
    assert sorted([*order, *state.cut]) == list(range(len(cells)))
    best = (max if better is Better.HIGHER else min)(level[cell["name"]] for cell in cells)
    assert all(level[cells[place]["name"]] != best for place in state.cut)
    assert state.over
