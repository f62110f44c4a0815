"""The series that judge the detector: injected shifts with known places, and labelled real histories."""

import itertools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

LENGTH = 200
SERIES_PER_CELL = 40
#: One unit of noise on the scale of values: y = LEVEL * exp(UNIT * (noise + signal)).
LEVEL, UNIT = 100.0, 0.02
#: Minimum number of points of a labelled series whose residuals are used as noise.
FEWEST_RESIDUALS = 30
DATA_VARIABLE = "ANUBIS_DETECTION_DATA"


@dataclass(frozen=True)
class Case:
    """One series and where its level shifts: indices of the first points of new levels."""

    cell: tuple[str, str]
    values: np.ndarray
    sure: tuple[int, ...]
    maybe: tuple[int, ...] = ()
    #: Standard error of each value relative to it, where repeats were recorded.
    errors: np.ndarray | None = None


def data_folder(given: str | None = None) -> Path | None:
    """The folder of the labelled series: as given, else $ANUBIS_DETECTION_DATA, else beside the checkout."""
    beside = Path(__file__).parents[3] / "shared" / "detection-data"
    folder = Path(given or os.environ.get(DATA_VARIABLE) or beside)
    return folder if (folder / "ci_labels.json").is_file() else None


def real_residuals(folder: Path) -> list[np.ndarray]:
    """Log residuals of every labelled series around the medians of its segments, zero mean and unit variance each."""
    known = json.loads((folder / "known_series.json").read_text())
    series = [(one["v"], one["sure"] + one["maybe"]) for one in known.values()]
    series += [(case.values, [*case.sure, *case.maybe]) for case in labelled(folder)]
    found = []
    for values, labels in series:
        logs = np.log(np.asarray(values, dtype=float))
        edges = [0, *sorted(labels), len(logs)]
        residuals = np.concatenate([logs[a:b] - np.median(logs[a:b]) for a, b in itertools.pairwise(edges)])
        if len(residuals) >= FEWEST_RESIDUALS and residuals.std() > 0:
            found.append((residuals - residuals.mean()) / residuals.std())
    return found


def noises(folder: Path | None) -> dict[str, Callable[[np.random.Generator, int], np.ndarray]]:
    """Zero mean, unit variance, by name; ``real`` only where the labelled data are."""
    kinds = {
        "gauss": lambda random, n: random.standard_normal(n),
        "lognormal": _lognormal,
        "student t3": lambda random, n: random.standard_t(3, n) / np.sqrt(3),
        "AR(1) .3": autoregressive,
        "bimodal": _bimodal,
    }
    if folder is not None:
        pool = real_residuals(folder)
        kinds["real"] = lambda random, n: _blocks(random, n, pool[int(random.integers(len(pool)))])
    return kinds


def _lognormal(random: np.random.Generator, n: int, sigma: float = 0.6) -> np.ndarray:
    raw = np.exp(sigma * random.standard_normal(n))
    mean = np.exp(sigma**2 / 2)
    return (raw - mean) / (mean * np.sqrt(np.expm1(sigma**2)))


def autoregressive(random: np.random.Generator, n: int, rho: float = 0.3) -> np.ndarray:
    shocks = random.standard_normal(n) * np.sqrt(1 - rho**2)
    result = np.empty(n)
    last = random.standard_normal()
    for at in range(n):
        last = rho * last + shocks[at]
        result[at] = last
    return result


def _bimodal(random: np.random.Generator, n: int) -> np.ndarray:
    share, distance, spread = 0.3, 2.0, 0.35
    raw = distance * (random.random(n) < share) + spread * random.standard_normal(n)
    return (raw - share * distance) / np.sqrt(share * (1 - share) * distance**2 + spread**2)


def _blocks(random: np.random.Generator, n: int, residuals: np.ndarray, length: int = 10) -> np.ndarray:
    starts = random.integers(0, len(residuals) - length, size=-(-n // length))
    return np.concatenate([residuals[at : at + length] for at in starts])[:n]


def _sign(random: np.random.Generator) -> int:
    return 1 if random.random() < 0.5 else -1


def _step(size: float) -> Callable[[np.random.Generator, int], tuple[np.ndarray, list[int]]]:
    def build(random: np.random.Generator, n: int) -> tuple[np.ndarray, list[int]]:
        at = int(random.integers(n // 4, n * 4 // 5))
        return np.where(np.arange(n) >= at, _sign(random) * size, 0.0), [at]

    return build


def _steps(random: np.random.Generator, n: int) -> tuple[np.ndarray, list[int]]:
    count, apart = int(random.integers(2, 5)), n // 10
    while True:
        places = sorted(int(at) for at in random.integers(apart, n - apart, size=count))
        if min(np.diff(places)) >= apart:
            break
    signal = np.zeros(n)
    for at in places:
        signal[at:] += _sign(random) * random.uniform(2, 5)
    return signal, places


def _hump(random: np.random.Generator, n: int) -> tuple[np.ndarray, list[int]]:
    at = int(random.integers(n // 4, n * 4 // 5 - 10))
    signal = np.zeros(n)
    signal[at : at + 10] = 4 * _sign(random)
    return signal, [at, at + 10]


def _spikes(random: np.random.Generator, n: int) -> tuple[np.ndarray, list[int]]:
    signal = np.zeros(n)
    for at in random.choice(n, size=5, replace=False):
        signal[at] = 8 * _sign(random)
    return signal, []


def _spikes_and_step(random: np.random.Generator, n: int) -> tuple[np.ndarray, list[int]]:
    step, places = _step(3)(random, n)
    return step + _spikes(random, n)[0], places


def _drift(random: np.random.Generator, n: int) -> tuple[np.ndarray, list[int]]:
    return _sign(random) * np.log(1.1) / UNIT * np.arange(n) / (n - 1), []


def _nothing(_random: np.random.Generator, n: int) -> tuple[np.ndarray, list[int]]:
    return np.zeros(n), []


SCENARIOS = {
    "none": _nothing,
    "step 1": _step(1),
    "step 2": _step(2),
    "step 3": _step(3),
    "step 5": _step(5),
    "2-4 steps": _steps,
    "hump 4 x 10": _hump,
    "spikes": _spikes,
    "spikes + step 3": _spikes_and_step,
    "drift": _drift,
    "noise x 3": _nothing,
}


def injected(seed: int, folder: Path | None, per_cell: int = SERIES_PER_CELL) -> Iterator[Case]:
    """Every noise with every scenario, ``per_cell`` series each; the same seed gives the same series."""
    for kind, (noise_name, noise) in enumerate(noises(folder).items()):
        for row, (scenario_name, scenario) in enumerate(SCENARIOS.items()):
            random = np.random.default_rng([seed, kind, row])
            for _ in range(per_cell):
                signal, places = scenario(random, LENGTH)
                shocks = noise(random, LENGTH)
                if scenario_name == "noise x 3":
                    shocks[LENGTH // 2 :] *= 3
                values = LEVEL * np.exp(UNIT * (shocks + signal))
                yield Case((noise_name, scenario_name), values, tuple(places))


def repeated(seed: int, count: int = 200) -> Iterator[Case]:
    """Gaussian series whose points are means of few or many repeats: known standard errors from 0.2 to 6 sigma."""
    random = np.random.default_rng([seed, 99])
    scenarios = [_nothing, _step(1), _step(2), _step(3), _steps, _hump]
    for at in range(count):
        signal, places = scenarios[at % len(scenarios)](random, LENGTH)
        errors = np.exp(random.uniform(np.log(0.2), np.log(6), LENGTH))
        shocks = random.standard_normal(LENGTH) + errors * random.standard_normal(LENGTH)
        values = LEVEL * np.exp(UNIT * (shocks + signal))
        yield Case(("repeats", "known errors"), values, tuple(places), errors=UNIT * errors)


def labelled(folder: Path) -> Iterator[Case]:
    """The labelled CI histories."""
    histories = {one["id"]: one for one in json.loads((folder / "ci_series.json").read_text())}
    for name, label in json.loads((folder / "ci_labels.json").read_text()).items():
        values = np.asarray(histories[name]["v"], dtype=float)
        errors = histories[name].get("rel_se")
        yield Case(
            ("ci", name),
            values,
            tuple(label["sure"]),
            tuple(label["maybe"]),
            None if errors is None else np.asarray(errors, dtype=float),
        )


def histories_of(folder: Path) -> list[list[float]]:
    """The values of all real CI histories, labelled or not."""
    return [one["v"] for one in json.loads((folder / "ci_series.json").read_text())]
