"""The histories that a gate reads: the newest points of every series that the contender measured."""

from collections.abc import Collection, Mapping, Sequence

from anubis.contracts.world import World
from anubis.judging.baseline import ContenderRuns, runs_needed
from anubis.judging.baseline_size import LOOKBACK_POINTS, MOST_RUNS
from anubis.model.points import PointBlock

#: Series key and fingerprint -> the contender's runs.
Contenders = Mapping[tuple[str, str], ContenderRuns]


def gate_histories(
    world: World,
    contenders: Contenders,
    metrics: Collection[str],
    typical: Collection[str],
    *,
    before_s: float,
    runs: int,
) -> Sequence[PointBlock]:
    """The histories of the metrics before ``before_s``, including the contender's own points.

    ``runs`` is the largest number of runs of one contender; a session of the history may have as many, so that many runs
    may be needed for LOOKBACK_POINTS sessions. The history of one metric of each contender (``typical``) shows how many
    are. Only these are read, except of metrics for which they are not sufficient.
    """
    keys = list({key for key, _ in contenders})

    def read(names: Collection[str], most: int) -> Sequence[PointBlock]:
        return world.points.histories(keys, list(names), before_s=before_s, most=most)

    most = LOOKBACK_POINTS * min(runs, MOST_RUNS) + 2 * runs
    few = max(_needed(read(typical, most), contenders, most).values(), default=most)
    if few >= most or len(typical) == len(metrics):
        return read(metrics, most)
    blocks = read(metrics, few)
    needed = _needed(blocks, contenders, most)
    short = {metric for metric, count in needed.items() if count > few} | (set(metrics) - needed.keys())
    if not short:
        return blocks
    return [*(block for block in blocks if block.metric not in short), *read(short, most)]


def _needed(blocks: Sequence[PointBlock], contenders: Contenders, most: int) -> dict[str, int]:
    """For each metric the number of newest runs with LOOKBACK_POINTS sessions; ``most`` if these are too few."""
    found: dict[str, int] = {}
    # The metrics of a run share its order, subject and session.
    known: dict[tuple[object, ...], int] = {}
    for block in blocks:
        machine = (block.series_key, block.fingerprint)
        if machine in contenders:
            shared = (machine, block.run_ids)
            if shared not in known:
                known[shared] = runs_needed(block, contenders[machine]) or most
            found[block.metric] = max(found.get(block.metric, 0), known[shared])
    return found
