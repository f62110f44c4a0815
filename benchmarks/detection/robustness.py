"""Noise that breaks the assumptions of the detector: alarms while points arrive, and whether it is called unstable."""

from collections.abc import Callable

import live
import numpy as np
from corpus import LEVEL, UNIT, autoregressive
from table import Bar

POINTS = 400
#: An instability can be recognised only after some of its modes or periods: alarms after these points are also counted apart.
LEARNED = 200


def _sine(random: np.random.Generator, n: int, amplitude: float = 2.0, period: float = 50) -> np.ndarray:
    phase = random.random()
    return amplitude * np.sin(2 * np.pi * (np.arange(n) / period + phase)) + random.standard_normal(n)


def _sticky_modes(random: np.random.Generator, n: int, distance: float = 4.0, stay: float = 20) -> np.ndarray:
    switches = random.random(n) < 1 / stay
    return distance * (np.cumsum(switches) % 2) + random.standard_normal(n)


def _variance(factor: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    def build(random: np.random.Generator, n: int) -> np.ndarray:
        noise = random.standard_normal(n)
        noise[n // 2 :] *= factor
        return noise

    return build


def _ticks(random: np.random.Generator, n: int) -> np.ndarray:
    return np.round(random.standard_normal(n))


def _sessions(random: np.random.Generator, n: int, size: int = 4, ratio: float = 2.0) -> np.ndarray:
    states = np.repeat(random.standard_normal(-(-n // size)), size)[:n]
    return ratio * states + random.standard_normal(n)


#: name -> (noise, most alarms per 1000 points)
KINDS = {
    "AR(1) .5": (lambda random, n: autoregressive(random, n, 0.5), None),
    "AR(1) .9": (lambda random, n: autoregressive(random, n, 0.9), 3),
    "sine of 2 sigma, period 50": (_sine, 3),
    "two modes 4 sigma apart, kept for 20 points": (_sticky_modes, 5),
    "variance x 3 at the middle": (_variance(3), 1),
    "variance x 10 at the middle": (_variance(10), 2),
    "rounded to 1 sigma": (_ticks, None),
    "sessions of 4 points, 2 sigma between": (_sessions, None),
}


def robust(seeds: tuple[int, int], series: int) -> list[Bar]:
    """The tuned and the fresh seed; a bar holds for the alarms from the first point on."""
    bars = []
    for number, (kind, (noise, most)) in enumerate(KINDS.items()):
        tuned, fresh = (watched(noise, [seed, 10, number], series) for seed in seeds)
        for at, (name, bar) in enumerate(
            (
                (f"alarms per 1000 points, {kind}", most),
                (f"- of them after the first {LEARNED} points, per 1000", None),
                ("- share of series that are called unstable in the end", None),
            )
        ):
            bars.append(Bar(name=name, tuned=tuned[at], fresh=fresh[at], most=bar, series=series))
    return bars


def watched(
    noise: Callable[[np.random.Generator, int], np.ndarray], seed: list[int], series: int
) -> tuple[float, float, float]:
    """Alarms per 1000 points, those after the first LEARNED points, and the share of unstable series."""
    random = np.random.default_rng(seed)
    alarms = late = unstable = 0
    for _ in range(series):
        told, is_unstable = live.watched(LEVEL * np.exp(UNIT * noise(random, POINTS)))
        alarms += len(told)
        late += sum(count > LEARNED for count, _ in told)
        unstable += is_unstable
    points = series * POINTS
    return 1000 * alarms / points, 1000 * late / (points - series * LEARNED), unstable / series
