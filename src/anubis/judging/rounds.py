"""Runs of both sides that were measured in the same round."""

from collections.abc import Iterable, Mapping, Sequence

from anubis.model.run import Run

#: Family and cell without the file: of runs that were measured directly after each other.
Round = tuple[str, tuple[tuple[str, object], ...]]


def rounds_of(runs: Iterable[Run]) -> dict[str, Round]:
    """Run id -> its round, of runs that were measured in rounds."""
    return {
        run.id: (run.family_id, tuple(sorted(item for item in run.cell.items() if item[0] != "file")))
        for run in runs
        if run.family_id and "round" in run.cell
    }


def pairs(
    baseline: Sequence[str], contender: Sequence[str], rounds: Mapping[str, Round]
) -> tuple[tuple[int, int], ...]:
    """Positions of the runs of both sides that were measured in the same round."""
    old = {rounds[run_id]: at for at, run_id in enumerate(baseline) if run_id in rounds}
    return tuple(
        (old[rounds[run_id]], at)
        for at, run_id in enumerate(contender)
        if run_id in rounds and rounds[run_id] in old
    )
