"""Sweeps in memory, the reference for every store of sweeps."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.model.errors import ConflictError, NotFoundError
from anubis.testing.memory_state import MemoryState


class FakeSweeps:
    """``Sweeps`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def put(self, sweep: Sweep) -> Sweep:
        with self._shelf.lock:
            stored = self._shelf.sweeps.get(sweep.id)
            if sweep.version != (stored.version if stored else 0):
                raise ConflictError(f"another writer changed sweep {sweep.id}", remedy="try again")
            new = self._shelf.sweeps[sweep.id] = replace(sweep, version=sweep.version + 1)
            return new

    def get(self, sweep_id: str) -> Sweep:
        low = sweep_id.lower()
        found = [sweep for sweep in self._shelf.sweeps.values() if low and sweep.id.startswith(low)]
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFoundError(f"no sweep has the id {sweep_id}", remedy="look at the list of sweeps")
        shown = ", ".join(sorted(sweep.id for sweep in found))
        raise NotFoundError(f"several sweeps begin with {sweep_id}: {shown}", remedy="give more digits")

    def running(self) -> Mapping[str, int]:
        with self._shelf.lock:
            sweeps = self._shelf.sweeps.values()
            return {sweep.id: sweep.version for sweep in sweeps if sweep.phase is SweepPhase.RUNNING}

    def find(self, *, limit: int = 100) -> Sequence[Sweep]:
        newest = sorted(self._shelf.sweeps.values(), key=lambda sweep: (-sweep.created_s, sweep.id))
        return newest[:limit]

    def remove(self, sweep_ids: Sequence[str]) -> None:
        with self._shelf.lock:
            for sweep_id in sweep_ids:
                stored = self._shelf.sweeps.get(sweep_id)
                if stored and stored.phase is not SweepPhase.RUNNING:
                    del self._shelf.sweeps[sweep_id]
