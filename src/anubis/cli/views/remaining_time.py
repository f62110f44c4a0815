"""An estimate of the time until runs are final, from the runs and repeats that have ended."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from anubis.cli.families import Key, key_of
from anubis.cli.views import units
from anubis.model.run import Run
from anubis.model.status import Status


def remaining_s(runs: Sequence[Run], progress: Mapping[str, float], *, now_s: float) -> float | None:
    """Seconds until all runs are final; None if nothing has ended from which it could be estimated.

    A run takes as long as the median of the runs with its axis values, else as the mean over all. ``progress``: run
    id -> the share of its executions that have ended. Runs that are under way at the same time share the work.
    """
    durations: dict[Key, list[float]] = defaultdict(list)
    for run in runs:
        if run.placed_s is None:
            continue
        if run.status is Status.SUCCEEDED and run.ended_s is not None:
            durations[key_of(run)].append(run.ended_s - run.placed_s)
        elif not run.status.final and progress.get(run.id, 0.0) > 0:
            durations[key_of(run)].append((now_s - run.placed_s) / progress[run.id])
    if not durations:
        return None
    expected = {key: median(of_key) for key, of_key in durations.items()}
    overall = fmean(expected.values())
    left = 0.0
    for run in runs:
        if not run.status.final:
            elapsed = 0.0 if run.placed_s is None else now_s - run.placed_s
            left += max(0.0, expected.get(key_of(run), overall) - elapsed)
    under_way = sum(run.placed_s is not None and not run.status.final for run in runs)
    return left / max(1, under_way)


def text(seconds: float | None) -> str:
    """``about 40 s left``; empty without an estimate, and when the estimated time is over."""
    if not seconds:
        return ""
    return (
        f"about {math.ceil(seconds)} s left"
        if seconds < 60
        else f"about {units.duration(round(seconds, -1))} left"
    )
