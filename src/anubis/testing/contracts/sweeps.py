"""The contract of ``Sweeps`` as tests. A subclass has a fixture ``store`` with ``sweeps`` in it."""

from dataclasses import replace
from typing import Any

import pytest

from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.model.descriptor import Halving, Matrix, SweepRules
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.ids import new_run_id
from anubis.testing.builders import NOW_S, a_descriptor


def a_sweep(**changes: Any) -> Sweep:
    """A sweep over two cells; ``changes`` are fields of Sweep."""
    matrix = Matrix(axes={"env.vars.A": ("1", "2")}, include=({"env.vars.A": "3"},))
    rules = SweepRules(max_parallel=2, halving=Halving(metric="speed"))
    sweep = Sweep(
        id=new_run_id(),
        owner="me",
        created_s=NOW_S,
        descriptor=a_descriptor(matrix=matrix, sweep=rules),
        text="[info]",
        cells=("a" * 64, "b" * 64),
    )
    return replace(sweep, **changes)


class SweepsContract:
    """Stored sweeps."""

    def test_a_sweep_is_read_as_it_was_written(self, store: Any) -> None:
        sweep = a_sweep(overrides={"a": "\0\ud800"}, folder="/x", tries={"1": 2}, reason="because")
        stored = store.sweeps.put(sweep)
        assert stored == replace(sweep, version=1)
        assert store.sweeps.get(sweep.id) == stored
        assert store.sweeps.get(sweep.id[:13].upper()) == stored

    def test_a_change_needs_the_newest_version(self, store: Any) -> None:
        first = store.sweeps.put(a_sweep())
        second = store.sweeps.put(replace(first, phase=SweepPhase.PAUSED))
        for late in (first, replace(first, version=0), replace(first, version=9)):
            with pytest.raises(ConflictError):
                store.sweeps.put(replace(late, reason="late"))
        assert store.sweeps.get(first.id) == second

    def test_a_change_of_an_unknown_sweep_is_a_conflict(self, store: Any) -> None:
        with pytest.raises(ConflictError):
            store.sweeps.put(a_sweep(version=1))
        assert store.sweeps.find() == []

    def test_running_sweeps_have_their_versions(self, store: Any) -> None:
        one, two = store.sweeps.put(a_sweep()), store.sweeps.put(a_sweep())
        store.sweeps.put(replace(one, phase=SweepPhase.ENDED))
        store.sweeps.put(two)
        assert store.sweeps.running() == {two.id: 2}

    def test_the_newest_sweeps_come_first(self, store: Any) -> None:
        stored = [store.sweeps.put(a_sweep(created_s=NOW_S + age)) for age in range(3)]
        assert store.sweeps.find() == stored[::-1]
        assert store.sweeps.find(limit=1) == stored[2:]

    def test_an_unknown_or_ambiguous_id_is_refused(self, store: Any) -> None:
        store.sweeps.put(a_sweep(id="0" * 8 + "-1"))
        store.sweeps.put(a_sweep(id="0" * 8 + "-2"))
        for text in ("", "1", "%", "0"):
            with pytest.raises(NotFoundError):
                store.sweeps.get(text)

    def test_a_running_sweep_is_not_removed(self, store: Any) -> None:
        one = store.sweeps.put(a_sweep())
        two = store.sweeps.put(a_sweep(phase=SweepPhase.ENDED))
        store.sweeps.remove([one.id, two.id, new_run_id()])
        store.sweeps.remove([])
        assert store.sweeps.find() == [one]
