"""How often a gate is right: comparisons with known effects, judged with ``compare_many`` as ``anubis check`` calls it."""

from collections.abc import Callable, Sequence

import numpy as np

from anubis.analysis.samples.compare import compare, compare_many
from anubis.model.verdict import Judgement, Sides

#: Standard deviation of one run on the scale of values, and number of earlier sessions.
UNIT, PAST = 0.02, 20
CHANGES = (Judgement.REGRESSED, Judgement.IMPROVED, Judgement.CHANGED)
Noise = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _lognormal(random: np.random.Generator, shape: tuple[int, ...], sigma: float = 0.6) -> np.ndarray:
    raw, mean = np.exp(sigma * random.standard_normal(shape)), np.exp(sigma**2 / 2)
    return (raw - mean) / (mean * np.sqrt(np.expm1(sigma**2)))


def _two_modes(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    raw = 2.0 * (random.random(shape) < 0.3) + 0.35 * random.standard_normal(shape)
    return (raw - 0.6) / np.sqrt(0.84 + 0.35**2)


def _spiky(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    spikes = 10 * random.choice([-1.0, 1.0], shape) * (random.random(shape) < 0.02)
    return random.standard_normal(shape) + spikes


#: Zero mean; unit variance except for the spikes, which are added to unit variance.
NOISES: dict[str, Noise] = {
    "gauss": lambda random, shape: random.standard_normal(shape),
    "student t3": lambda random, shape: random.standard_t(3, shape) / np.sqrt(3),
    "lognormal": _lognormal,
    "bimodal": _two_modes,
    "spiky": _spiky,
}


def null_gates(
    noise: Noise, seed: int, gates: int, runs: int, *, metrics: int = 1000, lone: float | None = None
) -> tuple[float, float]:
    """False regressions per gate of metrics without a change, and the share of gates that find one shifted metric.

    The contender has so many runs in one session, the history one run in each session. ``lone`` is the shift in standard
    deviations; None: it is not measured.
    """
    false = found = 0
    for number in range(gates):
        random = np.random.default_rng([seed, runs, number])
        logs = UNIT * noise(random, (metrics, PAST + runs))
        verdicts = compare_many(map(_against_history, np.exp(logs).tolist())).verdicts
        false += sum(one.judgement is Judgement.REGRESSED for one in verdicts)
        if lone is None:
            continue
        shifted = logs[:1].copy()
        shifted[:, PAST:] += UNIT * lone
        values = np.exp(np.concatenate([shifted, logs[1:]]))
        one = compare_many(map(_against_history, values.tolist())).verdicts[0]
        found += one.judgement is Judgement.REGRESSED
    return false / gates, found / gates


def _against_history(row: Sequence[float]) -> Sides:
    runs = len(row) - PAST
    return Sides(
        metric="m",
        baseline=tuple(row[:PAST]),
        contender=tuple(row[PAST:]),
        better="lower",
        history=tuple(row[:PAST]) if runs < 6 else (),
        baseline_sessions=(1,) * PAST,
        contender_sessions=(runs,),
    )


def spikes_in_the_level(seed: int, count: int, *, noise: float = 0.005) -> float:
    """The share of right verdicts of a true 0 and a true +5 % if one value of the history is 2, 10 or 0.1 times as large."""
    right = total = 0
    for number, factor in enumerate((2.0, 10.0, 0.1)):
        for effect in (0.0, 0.05):
            random = np.random.default_rng([seed, number, int(100 * effect)])
            values = np.exp(noise * random.standard_normal((count, PAST + 3)))
            values[np.arange(count), random.integers(0, PAST, count)] *= factor
            values[:, PAST:] *= 1 + effect
            wanted = (Judgement.REGRESSED,) if effect else (Judgement.UNCHANGED, Judgement.UNDECIDED)
            for row in values.tolist():
                right += compare_many([_against_history(row)]).verdicts[0].judgement in wanted
            total += count
    return right / total


def sessions_type_1(seed: int, count: int, runs: int, between: float) -> float:
    """The share of comparisons without a change with p < .05; sessions differ by ``between`` times as much as runs."""
    random = np.random.default_rng([seed, runs, int(10 * between)])
    low = 0
    for _ in range(count):
        states = between * random.standard_normal(PAST + 1)
        old = np.exp(UNIT * (states[:PAST, None] + random.standard_normal((PAST, runs))) / 2).ravel()
        new = np.exp(UNIT * (states[PAST] + random.standard_normal(runs)) / 2)
        verdict = compare(
            "m",
            old.tolist(),
            new.tolist(),
            min_effect=0.0,
            baseline_sessions=(runs,) * PAST,
            contender_sessions=(runs,),
        )
        low += (verdict.p or 0.0) < 0.05
    return low / count


def pairs_power(seed: int, count: int, effect: float, *, pairs: int = 10) -> float:
    """The share of comparisons with a change, of alternated pairs: 3 % between them, .5 % within, min effect 0."""
    random = np.random.default_rng([seed, int(100 * effect)])
    found = 0
    together = [(at, at) for at in range(pairs)]
    for _ in range(count):
        machine = 0.03 * random.standard_normal(pairs)
        sides = np.exp(machine + 0.005 / np.sqrt(2) * random.standard_normal((2, pairs)))
        new = (1 + effect) * sides[1]
        verdict = compare("m", sides[0].tolist(), new.tolist(), min_effect=0.0, pairs=together)
        found += verdict.judgement in CHANGES
    return found / count


def two_values(seed: int, count: int, shares: tuple[float, float], *, runs: int = 20) -> float:
    """The share of comparisons with a change of a metric that has the values 1 and 2; ``shares`` of 2 on both sides."""
    random = np.random.default_rng([seed, int(100 * shares[0]), int(100 * shares[1])])
    old, new = ((random.random((count, runs)) < share) + 1.0 for share in shares)
    found = [compare("m", a, b).judgement in CHANGES for a, b in zip(old.tolist(), new.tolist(), strict=True)]
    return sum(found) / count


def many_metrics(
    noise: Noise, seed: int, comparisons: int, runs: int, *, with_history: bool = False, metrics: int = 3000
) -> tuple[float, float]:
    """False changes per comparison of two new sets of runs, and the share that finds a lone +50 % among the metrics."""
    flags = found = 0
    past = 30 if with_history else 0
    for number in range(comparisons):
        random = np.random.default_rng([seed, runs, number])
        values = np.exp(UNIT * noise(random, (metrics, 2 * runs + past))).tolist()

        def side(row: list[float], factor: float = 1.0) -> Sides:
            new = tuple(factor * value for value in row[runs : 2 * runs])
            history = tuple(row[2 * runs :])
            return Sides(
                metric="m", baseline=tuple(row[:runs]), contender=new, better="lower", history=history
            )

        sides = list(map(side, values))
        flags += sum(one.judgement in CHANGES for one in compare_many(sides).verdicts)
        sides[0] = side(values[0], 1.5)
        found += compare_many(sides).verdicts[0].judgement is Judgement.REGRESSED
    return flags / comparisons, found / comparisons
