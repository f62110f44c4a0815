"""What the detectors say while points arrive: false alarms, spikes, delays."""

from pathlib import Path
from statistics import median

import numpy as np
from corpus import LEVEL, UNIT, noises
from peers import Peers

from anubis.analysis.changes.online import Detector
from anubis.model.series import Sensitivity

NEAR = 5
NEVER = 10**6
PURE = ("gauss", "lognormal", "student t3", "bimodal")
#: An unstable series is looked at again after this many points.
AGAIN = 5
#: name -> (size in sigmas, sigma of log values)
SHIFTS = {
    "5 % at CV 1 %": (np.log(1.05) / 0.01, 0.01),
    "1 sigma": (1.0, UNIT),
    "1.5 sigma": (1.5, UNIT),
    "2 sigma": (2.0, UNIT),
    "3 sigma": (3.0, UNIT),
    "5 sigma": (5.0, UNIT),
}

#: The shifts that peers are asked about: they need minutes for each.
PEER_SHIFTS = ("5 % at CV 1 %", "1 sigma", "2 sigma")


def alarms(values: np.ndarray, **options) -> list[tuple[int, int]]:
    """(point, index) of every change that is not near an earlier one, while the points arrive."""
    return watched(values, **options)[0]


def watched(values: np.ndarray, **options) -> tuple[list[tuple[int, int]], bool]:
    """The alarms, and whether the series is unstable in the end; while it is unstable, nothing is reported."""
    detector = Detector(**{"min_effect": 0.0, **options})
    told: list[tuple[int, int]] = []
    seen: list[int] = []
    is_unstable = False
    for count, value in enumerate(values.tolist(), 1):
        if detector.append(value) or (is_unstable and count % AGAIN == 0):
            verdict = detector.verdict()
            is_unstable = verdict.instability is not None
            for at in (change.index for change in verdict.changes):
                if all(abs(at - other) > NEAR for other in seen):
                    told.append((count, at))
                seen.append(at)
    return told, detector.verdict().instability is not None


def pure_noise(seed: int, folder: Path | None, series: int, points: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng([seed, 7])
    return {
        kind: LEVEL * np.exp(UNIT * np.array([noise(random, points) for _ in range(series)]))
        for kind, noise in noises(folder).items()
    }


def false_alarms(
    seed: int,
    folder: Path | None,
    series: int,
    points: int,
    sensitivity: Sensitivity = Sensitivity.NORMAL,
    min_effect: float = 0.0,
) -> dict[str, float]:
    """Alarms per 1000 points of every kind of noise."""
    return {
        kind: 1000
        * sum(len(alarms(row, sensitivity=sensitivity, min_effect=min_effect)) for row in rows)
        / rows.size
        for kind, rows in pure_noise(seed, folder, series, points).items()
    }


def independent(rates: dict[str, float]) -> float | None:
    """Mean over the kinds of noise without autocorrelation."""
    return sum(rates[kind] for kind in PURE) / len(PURE) if rates else None


def peer_false_alarms(
    peers: Peers, name: str, seed: int, folder: Path | None, series: int, points: int
) -> dict[str, float]:
    rates = {}
    for kind, rows in pure_noise(seed, folder, series, points).items():
        answer = peers.ask(name, "online", rows.tolist())
        if answer is not None:
            rates[kind] = 1000 * sum(map(len, answer["alarms"])) / rows.size
    return rates


def spiky(
    seed: int, series: int, kind: str = "gauss", folder: Path | None = None, points: int = 200
) -> tuple[np.ndarray, np.ndarray]:
    """Series with five 8-sigma spikes at random places, and the same noise without them."""
    kinds = noises(folder)
    random = np.random.default_rng([seed, 8, list(kinds).index(kind)])
    plain = np.array([kinds[kind](random, points) for _ in range(series)])
    logs = plain.copy()
    for row in logs:
        row[random.choice(points, 5, replace=False)] += 8 * random.choice([-1, 1], 5)
    return LEVEL * np.exp(UNIT * logs), LEVEL * np.exp(UNIT * plain)


def spike_alarms(seed: int, series: int, kind: str, folder: Path | None) -> tuple[float, float]:
    """Alarms per series with spikes, and of the same noise without."""
    with_spikes, without = spiky(seed, series, kind, folder)
    return tuple(sum(len(alarms(row)) for row in rows) / series for rows in (with_spikes, without))


def peer_spike_alarms(peers: Peers, name: str, seed: int, series: int) -> float | None:
    answer = peers.ask(name, "online", spiky(seed, series)[0].tolist())
    return None if answer is None else sum(map(len, answer["alarms"])) / series


def shifted(seed: int, name: str, series: int, before: int, after: int) -> np.ndarray:
    size, sigma = SHIFTS[name]
    random = np.random.default_rng([seed, 9, before])
    logs = random.standard_normal((series, before + after))
    logs[:, before:] += size
    return LEVEL * np.exp(sigma * logs)


def first_report(told: list, before: int) -> int:
    """How many shifted points had come when the shift was first reported within NEAR points, the first of them counted 1."""
    after = [count - before for count, at in told if count > before and abs(at - before) <= NEAR]
    return after[0] if after else NEVER


def delays(seed: int, series: int, before: int, after: int = 100) -> dict[str, float]:
    """Median over series."""
    return {
        name: median(first_report(alarms(row), before) for row in shifted(seed, name, series, before, after))
        for name in SHIFTS
    }


def peer_delays(
    peers: Peers, name: str, seed: int, series: int, before: int, after: int = 100
) -> dict[str, float]:
    """The same for a peer, for the shifts in PEER_SHIFTS."""
    result = {}
    for shift in PEER_SHIFTS:
        answer = peers.ask(name, "online", shifted(seed, shift, series, before, after).tolist())
        if answer is not None:
            result[shift] = median(first_report(told, before) for told in answer["alarms"])
    return result
