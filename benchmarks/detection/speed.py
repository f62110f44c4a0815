"""What the detector costs, in seconds of one core, the best of a few runs: the machine may be shared."""

import time
from collections.abc import Callable
from statistics import mean, median

import numpy as np
from corpus import injected
from peers import Peers

from anubis.analysis.changes.detection import find_changes, judge_many
from anubis.analysis.changes.online import Detector
from anubis.analysis.samples.compare import compare_many
from anubis.model.series import Series
from anubis.model.verdict import Sides


def history(points: int, seed: int = 1, every: int = 200) -> list[float]:
    """Gaussian noise of 2 % with a step of 5 % now and then."""
    random = np.random.default_rng([seed, points])
    logs = 0.02 * random.standard_normal(points) + 0.05 * ((np.arange(points) // every) % 2)
    return (100 * np.exp(logs)).tolist()


def best(call: Callable[[], object], repeats: int = 5) -> float:
    seconds = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds)


def one_more_point(seed: int, before: int = 450, counted: int = 50, series: int = 20) -> dict[str, float]:
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


def peer_one_more_point(peers: Peers, seed: int) -> float | None:
    series = [history(500, seed + one, every=10**6) for one in range(4)]
    answer = peers.ask("otava", "appended", series)
    return None if answer is None else median(answer["seconds"])


def stateless(points: int) -> float:
    series = [Series(values=tuple(history(points)))]
    return best(lambda: find_changes(series), 20)


def peer_stateless(peers: Peers, name: str, points: int) -> float | None:
    answer = peers.ask(name, "timed", [history(points)])
    return None if answer is None else answer["seconds"][0]


def per_series_point(folder, per_cell: int) -> float:
    """Many series at once, all scenarios and kinds of noise, stage 2 included."""
    series = [Series(values=tuple(case.values.tolist())) for case in injected(1, folder, per_cell)]
    points = sum(len(one.values) for one in series)
    return best(lambda: find_changes(series, min_effect=0.0), 3) / points


def cold(series: int = 200, points: int = 100) -> float:
    """Full verdicts, words and intervals included, of series that were never seen."""
    many = [Series(values=tuple(history(points, seed, every=60)), better="lower") for seed in range(series)]
    return best(lambda: judge_many(many), 3)


def one_commit(series: int = 200, points: int = 100) -> tuple[float, float]:
    """One new point for each of many series: typical, and in the commit that shifts every one of them by 10 %."""
    detectors = []
    for seed in range(series):
        detectors.append(Detector())
        for value in history(points, seed, every=60):
            detectors[-1].append(value)
    usual = best(lambda: [detector.append(105.0) for detector in detectors], 3)
    moved = best(lambda: [detector.append(120.0) for detector in detectors], 3)
    return usual, moved


def comparison(metrics: int = 3000) -> float:
    """Two single runs, compared in every metric with 30 points of history each."""
    random = np.random.default_rng(5)
    values = 100 * np.exp(0.02 * random.standard_normal((metrics, 32)))
    sides = [
        Sides(metric=f"m{k}", baseline=(row[0],), contender=(row[1],), history=tuple(row[2:]), better="lower")
        for k, row in enumerate(values.tolist())
    ]
    return best(lambda: compare_many(sides), 3)
