"""Runs of both sides that were measured in the same round, and their order in it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from anubis.model.run import Run

#: Family and cell without the file: of runs that were measured directly after each other.
Round = tuple[str, tuple[tuple[str, object], ...]]


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a run in its round."""

    round: Round
    #: The run with the smaller value was measured first.
    order: tuple[float, str]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The runs of both sides that were measured in the same round, in the form of ``Sides``."""

    positions: tuple[tuple[int, int], ...]
    contender_second: tuple[bool, ...]


def slots_of(runs: Iterable[Run]) -> dict[str, Slot]:
    """Run id -> its slot, of runs that were measured in rounds."""
    return {
        run.id: Slot(
            (run.family_id, tuple(sorted(item for item in run.cell.items() if item[0] != "file"))),
            (run.created_s if run.placed_s is None else run.placed_s, run.id),
        )
        for run in runs
        if run.family_id and "round" in run.cell
    }


def pairs_of(baseline: Sequence[str], contender: Sequence[str], slots: Mapping[str, Slot]) -> Pairs:
    """The pairs of two lists of run ids."""
    old = {slots[run_id].round: at for at, run_id in enumerate(baseline) if run_id in slots}
    positions = tuple(
        (old[slots[run_id].round], at)
        for at, run_id in enumerate(contender)
        if run_id in slots and slots[run_id].round in old
    )
    return Pairs(positions, tuple(slots[contender[j]].order > slots[baseline[i]].order for i, j in positions))
