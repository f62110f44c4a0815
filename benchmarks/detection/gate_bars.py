"""The bars of the gate: comparisons with known effects, and confirmation on a simulated machine."""

from collections.abc import Callable, Sequence

import confirming
import gates
from report import Report
from table import FRESH, TUNED, Bar, rows_without_peers

GAUSS_LIKE = ("gauss", "student t3", "lognormal")


def add(report: Report, part: str) -> list[Bar]:
    """Measure every bar of a part on both seeds, and add its table; returns the bars."""
    counted, title, group = PARTS[part]
    bars = group(TUNED, FRESH, quick=report.quick)
    report.add(part, rows_without_peers(bars, counted), title=title)
    return bars


def _bar(
    name: str, count: int, judge: Callable[[int], float], seeds: tuple[int, int], **limits: float
) -> Bar:
    tuned, fresh = map(judge, seeds)
    return Bar(name=name, tuned=tuned, fresh=fresh, series=count, **limits)


def null(tuned: int, fresh: int, *, quick: bool) -> list[Bar]:
    """False regressions, and a lone shift of 25 standard deviations."""
    count = 1 if quick else 40
    false, found = [], []
    for name, noise in gates.NOISES.items():
        for runs in (1, 2, 3):
            of_runs = f"{name}, {runs} run" + "s" * (runs > 1)
            first, second = (
                gates.null_gates(
                    noise,
                    seed,
                    count if seed == fresh else -(-count // 4),
                    runs,
                    lone=25.0 if runs == 1 else None,
                )
                for seed in (tuned, fresh)
            )
            false.append(
                Bar(
                    name=f"false regressions a gate: {of_runs}",
                    tuned=first[0],
                    fresh=second[0],
                    most=0.1,
                    series=count,
                )
            )
            if runs == 1:
                found.append(
                    Bar(
                        name=f"gates that find a lone shift of 25 sigma: {of_runs}",
                        tuned=first[1],
                        fresh=second[1],
                        least=0.78,
                        series=count,
                    )
                )
    return [*false, *found]


def comparisons(tuned: int, fresh: int, *, quick: bool) -> list[Bar]:
    """Spikes, sessions, pairs and ties."""
    seeds, count, many = (tuned, fresh), 20 if quick else 1000, 100 if quick else 4000
    bars = [
        _bar(
            "right verdicts of a true 0 and +5 % with a spike in the level",
            6 * count,
            lambda seed: gates.spikes_in_the_level(seed, count),
            seeds,
            least=0.99,
        )
    ]
    bars += [
        _bar(
            f"type I at session sd {between:g} x run sd, runs in a session: {runs}",
            many,
            lambda seed, runs=runs, between=between: gates.sessions_type_1(seed, many, runs, between),
            seeds,
            least=0.03,
            most=0.07,
        )
        for between in (1.0, 3.0)
        for runs in (1, 2, 3, 5, 8)
    ]
    for name, effect, limit in (
        ("power of 10 pairs: 3 %", 0.03, "least"),
        ("the same without a change", 0.0, "most"),
    ):
        bars.append(
            _bar(
                name,
                many,
                lambda seed, effect=effect: gates.pairs_power(seed, many, effect),
                seeds,
                **{limit: 0.95 if effect else 0.07},
            )
        )
    for shares in ((0.2, 0.8), (0.05, 0.05), (0.2, 0.2), (0.5, 0.5)):
        old, new = shares
        bars.append(
            _bar(
                f"changes of a metric with two values, 20+20 runs: {old:.0%} to {new:.0%}",
                many,
                lambda seed, shares=shares: gates.two_values(seed, many, shares),
                seeds,
                **({"most": 0.05} if old == new else {"least": 0.9}),
            )
        )
    return bars


def metrics(tuned: int, fresh: int, *, quick: bool) -> list[Bar]:
    """A lone large change among many metrics, and false changes."""
    count = 1 if quick else 16
    bars = []
    for name in GAUSS_LIKE:
        for runs in (3, 6) if quick else (3, 6, 9, 20):
            first, second = (
                gates.many_metrics(gates.NOISES[name], seed, count if seed == fresh else -(-count // 4), runs)
                for seed in (tuned, fresh)
            )
            what = f"{name}, {runs}+{runs} runs"
            bars += [
                Bar(
                    name=f"finds a lone +50 %: {what}",
                    tuned=first[1],
                    fresh=second[1],
                    least=0.95,
                    series=count,
                ),
                Bar(name=f"false changes: {what}", tuned=first[0], fresh=second[0], most=0.1, series=count),
            ]
    for with_history, most in ((True, 1.0), (False, None)):
        first, second = (
            gates.many_metrics(
                gates.NOISES["bimodal"],
                seed,
                count if seed == fresh else -(-count // 4),
                3,
                with_history=with_history,
            )
            for seed in (tuned, fresh)
        )
        what = "with a history" if with_history else "without a history, which the verdict says"
        bars.append(
            Bar(
                name=f"false changes: bimodal, 3+3 runs {what}",
                tuned=first[0],
                fresh=second[0],
                most=most,
                series=count,
            )
        )
    return bars


def confirmation(tuned: int, fresh: int, *, quick: bool) -> list[Bar]:
    """Suspicions by the state of a session, and by a true shift of 4 standard deviations."""
    bars = []
    for is_real in (False, True):
        what = "true shifts of 4 sigma" if is_real else "false suspicions"
        limits = {"least": 0.9} if is_real else {"most": 0.01}
        # Failures of a bar of 1 % need more cases than those of one of 90 %.
        count = 2 if quick else 40 if is_real else 110
        found = []
        for asked in (1, 3) if quick else (1, 3, 8):
            first, second = (
                confirming.confirmed_share(
                    seed, count if seed == fresh else -(-count // 4), asked, is_real=is_real
                )
                for seed in (tuned, fresh)
            )
            name = f"{what} confirmed, confirm_runs = {asked}"
            bars.append(Bar(name=name, tuned=first[0], fresh=second[0], series=second[1], **limits))
            found.append((first, second))
        first, second = (_pooled(shares) for shares in zip(*found, strict=True))
        name = f"{what} confirmed, all of these"
        bars.append(Bar(name=name, tuned=first[0], fresh=second[0], series=second[1], **limits))
    return bars


def _pooled(shares: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """The share of all, and their number."""
    total = sum(count for _, count in shares)
    return sum(share * count for share, count in shares) / max(total, 1), total


#: Part -> what its column of numbers counts, its title and its bars.
PARTS = {
    "gates": ("gates", "Gates of 1,000 metrics against their history, nothing or one metric changed", null),
    "comparisons": ("comparisons", "Comparisons with known effects", comparisons),
    "metrics": ("comparisons", "Comparisons of 3,000 metrics", metrics),
    "confirmation": ("suspicions", "Suspicions confirmed by re-running", confirmation),
}
