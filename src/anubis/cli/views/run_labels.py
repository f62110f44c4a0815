"""Text that distinguishes runs that are measured together: side of a comparison, axis values, round."""

from collections.abc import Mapping, Sequence

from anubis.cli.families import cells_of, files_of, key_text
from anubis.model.run import Run

SIDES = ("baseline", "contender")


def labels_of(runs: Sequence[Run]) -> Mapping[str, str]:
    """Run id -> for example ``baseline, BATCH=16, round 2 of 8``; empty for a run alone.

    Of two files the first is the baseline; of more files each is named.
    """
    files = files_of(cells_of(runs))
    sides = dict(zip(files, SIDES, strict=True)) if len(files) == len(SIDES) else {}
    rounds = 1 + max((run.cell.get("round", 0) for run in runs), default=0)
    return {run.id: _label(run, sides, rounds) for run in runs}


def _label(run: Run, sides: Mapping[str, str], rounds: int) -> str:
    file = run.cell.get("file", "")
    axes = tuple((name, value) for name, value in run.cell.items() if name not in {"file", "round"})
    round_text = f"round {run.cell.get('round', 0) + 1} of {rounds}" if rounds > 1 else ""
    return ", ".join(part for part in (sides.get(file, file), key_text(axes), round_text) if part)
