"""Error rates and power of ``anubis ab``: equal and different sides under many kinds of noise, judged at every look.

python benchmarks/bench_ab.py [--quick] [--seed N] [--json FILE]

A simulated machine has a state at each of its runs; the side whose turn it is gets the value of that state, and the shift
of the contender. Which side is first in a round is decided as in an alternation. "at any look" is the rate of decisions
over all looks together. The minimum effect is 0 for equal sides, which is the strictest case.
"""

import argparse
from collections.abc import Iterator

import numpy as np
from report import Report, add_option

from anubis.analysis.samples.looks import levels
from anubis.analysis.samples.pairs import _null_cdf, signed_rank
from anubis.analysis.samples.sequential import ALPHA, SPENT, judged
from anubis.model.verdict import Judgement, Sides

#: Most rounds, standard deviation of a run.
ROUNDS, NOISE = 60, 0.01
#: Alternations of each kind that are judged by the code of the command too.
CHECKED = 50
CODE = ("analysis/samples/looks.py", "analysis/samples/pairs.py", "analysis/samples/sequential.py")


def states(kind: str, rng: np.random.Generator) -> np.ndarray:  # noqa: C901  one case for each kind
    """The state of the machine at each run of all rounds, in standard deviations."""
    count = 2 * ROUNDS
    gauss = rng.normal(size=count)
    if kind == "Student's t, 3 degrees":
        return rng.standard_t(3, size=count) / np.sqrt(3)
    if kind == "lognormal":
        return (np.exp(0.6 * gauss) - np.exp(0.18)) / 0.78
    if kind == "two modes":
        return np.where(rng.random(count) < 0.7, 0.0, 2.0) + 0.35 * gauss
    if kind == "spikes":
        return gauss + np.where(rng.random(count) < 0.1, rng.exponential(20, size=count), 0.0)
    if kind == "ticks (5 values)":
        return np.round(0.7 * gauss)
    if kind == "drift of 8 sigma":
        return gauss + np.linspace(0, 8, count)
    if kind == "autocorrelation .33":
        chain = gauss.copy()
        for at in range(1, count):
            chain[at] += 0.33 * chain[at - 1]
        return chain
    if kind == "sessions of 20 runs, 3 sigma":
        return gauss + 3 * np.repeat(rng.normal(size=count // 20), 20)
    if kind == "second of a round slower, 2 sigma":
        return gauss + 2 * (np.arange(count) % 2)
    return gauss


KINDS = (
    "normal",
    "Student's t, 3 degrees",
    "lognormal",
    "two modes",
    "spikes",
    "ticks (5 values)",
    "drift of 8 sigma",
    "autocorrelation .33",
    "sessions of 20 runs, 3 sigma",
    "second of a round slower, 2 sigma",
)


def alternated(kind: str, rng: np.random.Generator) -> np.ndarray:
    """The states of both sides in every round, shape (2, rounds): a coin decides who is first, as in an alternation."""
    pairs = states(kind, rng).reshape(ROUNDS, 2)
    is_swapped = rng.random(ROUNDS) < 0.5
    is_swapped[0] = False
    return np.where(is_swapped, pairs.T[::-1], pairs.T)


def sides(found: np.ndarray, shift: float, least: float) -> Sides:
    """All rounds of one alternation; ``shift`` of the contender in standard deviations of a run."""
    old, new = 100 * np.exp(NOISE * found[0]), 100 * np.exp(NOISE * (found[1] + shift))
    return Sides(
        metric="time",
        baseline=tuple(old.tolist()),
        contender=tuple(new.tolist()),
        better="lower",
        min_effect=least,
        pairs=tuple((at, at) for at in range(ROUNDS)),
    )


def null_rows(count: int, rng: np.random.Generator) -> Iterator[list[str]]:
    """Rates of decisions about equal sides, as the alternation judges and by a test at 5 % that is repeated.

    All alternations of a kind are judged at once, from the averages of pairs; ``CHECKED`` of them also as the command judges them.
    """
    yield ["noise", "equal sides", "decided at any look", "a test at 5 % at every look"]
    at_looks = levels(ROUNDS, SPENT * ALPHA)
    for kind in KINDS:
        found = np.stack([alternated(kind, rng) for _ in range(count)])
        differences = found[:, 1] - found[:, 0]
        p = {pairs: p_values(differences[:, :pairs]) for pairs in at_looks}
        decided = np.any([p[pairs] <= level for pairs, level in at_looks.items() if level > 0], axis=0)
        repeated = np.any([found <= 0.05 for found in p.values()], axis=0)
        for each, is_decided in zip(found[:CHECKED], decided, strict=False):
            if (
                judged([sides(each, 0.0, 0.0)], ROUNDS)[0].judgement is not Judgement.UNDECIDED
            ) != is_decided:
                raise RuntimeError(f"the averages of {kind} decide otherwise than the command")
        rate = decided.mean()
        bar = "" if rate <= ALPHA else " **(missed)**"
        yield [kind, str(count), f"{rate:.1%}{bar}", f"{repeated.mean():.0%}"]


def p_values(differences: np.ndarray) -> np.ndarray:
    """Two-sided p of the signed-rank test for each row, from the averages of all pairs of differences."""
    first, second = np.triu_indices(differences.shape[1])
    null, found = _null_cdf(differences.shape[1]), []
    for start in range(0, len(differences), 500):
        part = differences[start : start + 500]
        averages = part[:, first] / 2 + part[:, second] / 2
        outside = np.minimum((averages <= 0).sum(axis=1), (averages >= 0).sum(axis=1))
        found.append(np.minimum(1.0, 2 * null[outside]))
    return np.concatenate(found)


def power_rows(count: int, rng: np.random.Generator) -> Iterator[list[str]]:
    """Rates of detected shifts and the rounds that were measured, against the test with all rounds."""
    yield ["noise", "shift", "found", "mean rounds", "found by one test after all rounds"]
    for kind in ("normal", "Student's t, 3 degrees", "spikes"):
        for shift in (0.5, 1.0, 2.0, 5.0):
            found, rounds, at_end = 0, 0, 0
            for _ in range(count):
                each = sides(alternated(kind, rng), shift, 0.0)
                (verdict,) = judged([each], ROUNDS)
                found += verdict.judgement is Judgement.REGRESSED
                rounds += verdict.n_baseline
                differences = np.log(each.contender) - np.log(each.baseline)
                at_end += signed_rank(differences.tolist(), 0.05).p <= 0.05
            yield [
                kind,
                f"{shift:g} sigma",
                f"{found / count:.0%}",
                f"{rounds / count:.0f}",
                f"{at_end / count:.0%}",
            ]


def equivalence_rows(count: int, rng: np.random.Generator) -> Iterator[list[str]]:
    """Equal sides and sides at the edge of the minimum effect of 2 sigma."""
    yield ["noise", "shift", "unchanged", "changed", "mean rounds"]
    least = float(np.expm1(2 * NOISE))
    for kind in ("normal", "spikes"):
        for shift in (0.0, 2.0):
            verdicts = [judged([sides(alternated(kind, rng), shift, least)], ROUNDS)[0] for _ in range(count)]
            same = sum(verdict.judgement is Judgement.UNCHANGED for verdict in verdicts)
            left = sum(verdict.judgement is Judgement.UNDECIDED for verdict in verdicts)
            rounds = sum(verdict.n_baseline for verdict in verdicts) / count
            changed = count - same - left
            yield [kind, f"{shift:g} sigma", f"{same / count:.1%}", f"{changed / count:.1%}", f"{rounds:.0f}"]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--quick", action="store_true")
    options.add_argument("--seed", type=int, default=2026)
    add_option(options)
    given = options.parse_args()
    report = Report(quick=given.quick, code=CODE)
    rng = np.random.default_rng(given.seed)
    nulls, others = (200, 20) if given.quick else (10_000, 200)
    report.add(
        "nulls", list(null_rows(nulls, rng)), title=f"Equal sides, at most {ROUNDS} rounds, seed {given.seed}"
    )
    report.add("power", list(power_rows(others, rng)), title="Different sides")
    report.add("equivalence", list(equivalence_rows(others, rng)), title="A minimum effect of 2 sigma")
    report.save(given.json)


if __name__ == "__main__":
    main()
