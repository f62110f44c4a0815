"""What the detector costs, in CPU seconds of one core. Whole calls are the best of ``BEST_OF``: the machine may be shared."""

import time
from collections.abc import Callable
from statistics import mean, median

import numpy as np
from corpus import injected
from peers import Peers

from anubis.analysis.changes.detection import find_changes, judge_many
from anubis.analysis.changes.online import Detector
from anubis.model.series import Series

#: Executions of one call, of which the quickest counts; the worker of the peers uses the same number.
BEST_OF = 5


def history(points: int, seed: int = 1, every: int = 200) -> list[float]:
    """Gaussian noise of 2 % with a step of 5 % now and then."""
    random = np.random.default_rng([seed, points])
    logs = 0.02 * random.standard_normal(points) + 0.05 * ((np.arange(points) // every) % 2)
    return (100 * np.exp(logs)).tolist()


def best(call: Callable[[], object]) -> float:
    seconds = []
    for _ in range(BEST_OF):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds)


def one_more_point(seed: int, series: int, before: int = 450, counted: int = 50) -> dict[str, float]:
    """Seconds for one more point: noise alone, and the 50 points before and after a step."""
    quiet, stepped = [], []
    for one in range(series):
        quiet += _append_times(history(before + counted, seed + one, every=10**6), counted)
        stepped += _append_times(history(before + counted, seed + one, every=before + counted // 2), counted)
    return {"mean": mean(quiet), "median": median(quiet), "mean around a step": mean(stepped)}


def _append_times(values: list[float], counted: int) -> list[float]:
    detector = Detector()
    for value in values[:-counted]:
        detector.append(value)
    seconds = []
    for value in values[-counted:]:
        started = time.process_time()
        detector.append(value)
        seconds.append(time.process_time() - started)
    return seconds


def peer_one_more_point(peers: Peers, seed: int, series: int) -> dict[str, float] | None:
    """The same for Otava in its incremental mode: noise alone."""
    many = [history(500, seed + one, every=10**6) for one in range(series)]
    answer = peers.ask("otava", "appended", many)
    return answer and {"mean": mean(answer["seconds"]), "median": median(answer["seconds"])}


def stateless(points: int) -> float:
    series = [Series(values=tuple(history(points)))]
    return best(lambda: find_changes(series))


def peer_stateless(peers: Peers, name: str, points: int) -> float | None:
    answer = peers.ask(name, "timed", [history(points)])
    return None if answer is None else answer["seconds"][0]


def per_series_point(folder, per_cell: int) -> float:
    """Many series at once, all scenarios and kinds of noise, stage 2 included."""
    series = [Series(values=tuple(case.values.tolist())) for case in injected(1, folder, per_cell)]
    points = sum(len(one.values) for one in series)
    return best(lambda: find_changes(series, min_effect=0.0)) / points


def cold(series: int = 200, points: int = 100) -> float:
    """Full verdicts, words and intervals included, of series that were never seen."""
    many = [Series(values=tuple(history(points, seed, every=60)), better="lower") for seed in range(series)]
    return best(lambda: judge_many(many))


def one_commit(series: int = 200, points: int = 100) -> tuple[float, float]:
    """Seconds for one new point of each of many series: the median of some commits without a change, and the most
    expensive of as many commits after a shift of every series by 14 %."""
    detectors = []
    for seed in range(series):
        detectors.append(Detector())
        for value in history(points, seed, every=60):
            detectors[-1].append(value)
    usual = [_commit(detectors, 105.0) for _ in range(BEST_OF)]
    moved = [_commit(detectors, 120.0) for _ in range(BEST_OF)]
    return median(usual), max(moved)


def _commit(detectors: list[Detector], value: float) -> float:
    started = time.process_time()
    for detector in detectors:
        detector.append(value)
    return time.process_time() - started
