"""Judges the detector: prints every bar with our value, on tuned and on fresh seeds, and peers in the same run.

python benchmarks/detection [PART ...] [--quick] [--peers-venv DIR] [--data DIR] [--json FILE]

Every detector of a row gets the same series; the column "series" has their number.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import accuracy
import curves
import gate_bars
import live
import numpy as np
import production
import robustness
import speed
from corpus import DATA_VARIABLE, SCENARIOS, data_folder, noises
from peers import NAMES, ONLINE, Peers
from report import Report, add_option
from table import FRESH, TUNED, Bar, rows, rows_of_times, rows_without_peers

#: What the values of a part depend on, beside the seeds and the bench; nothing: they are times.
CODE = {
    "accuracy": (
        "analysis/changes",
        "analysis/samples/spread.py",
        "analysis/samples/repeats.py",
        "judging/series.py",
    ),
    "online": ("analysis/changes", "analysis/samples/spread.py"),
    "robustness": ("analysis/changes", "analysis/samples/spread.py"),
    "curves": ("analysis/changes", "analysis/samples"),
    "gates": ("analysis/samples",),
    "comparisons": ("analysis/samples",),
    "metrics": ("analysis/samples",),
    "confirmation": ("analysis/samples", "judging/confirmation.py", "judging/confirmation_evidence.py"),
    "peers": ("analysis/changes", "analysis/samples/spread.py"),
    "speed": (),
}
#: Titles of the tables of bars.
TITLES = {
    "accuracy": "Which changes are found",
    "online": "What is reported while points arrive",
    "speed": f"CPU time of one core; whole calls are the best of {speed.BEST_OF}",
}
#: The labels are by one person: F1 values nearer than this are a tie (README of the labelled series).
TIE = 0.04


def main() -> int:
    options = arguments()
    folder = data_folder(options.data)
    if folder is None:
        print(
            f"the labelled series are absent: set {DATA_VARIABLE}; their bars and 'real' noise are left out"
        )
    held = True
    peers = Peers(options.peers_venv)
    for part in options.parts or [part for part in CODE if part != "peers" or options.peers_venv]:
        report = Report(quick=options.quick, code=CODE[part])
        held &= all(bar.held is not False for bar in measured(part, report, folder, peers))
        report.save(options.json)
    if options.quick:
        print("--quick looks at few series: only the full run says whether a bar is held")
    for name, why in peers.absent.items():
        print(f"peer {name} takes no part: {why}")
    return 0 if held or not options.strict else 1


def measured(part: str, report: Report, folder: Path | None, peers: Peers) -> list[Bar]:
    """Measure one part and add its tables; returns its bars."""
    quick = report.quick
    if part == "curves":
        curves.add(report, folder)
        return []
    if part in gate_bars.PARTS:
        return gate_bars.add(report, part)
    if part == "robustness":
        bars = robustness.robust((TUNED, FRESH), 2 if quick else 50)
        title = f"Noise without a stable level or variance, {robustness.POINTS} points while they arrive"
        report.add(part, rows_without_peers(bars, "series"), title=title)
        return bars
    groups = {"accuracy": accurate, "online": online, "speed": fast}
    if part in ("accuracy", "online"):  # without other detectors, which take hours
        bars = groups[part](folder, Peers(None), quick)
        report.add(part, rows_without_peers(bars, "series"), title=TITLES[part])
        return bars
    bars = []
    for name in ("accuracy", "online") if part == "peers" else (part,):
        of_table = groups[name](folder, peers, quick)
        shown = rows_of_times if name == "speed" else rows
        report.add(name, shown(of_table, peers.versions), title=TITLES[name])
        bars += of_table
    return bars


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python benchmarks/detection", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(CODE)}; default: all")
    parser.add_argument("--quick", action="store_true", help="few series, in seconds: for every commit")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument(
        "--peers-venv", type=Path, metavar="DIR", help="folder of the peers' environments; made when absent"
    )
    parser.add_argument("--data", metavar="DIR", help=f"the labelled series (else ${DATA_VARIABLE})")
    add_option(parser)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(CODE):
        parser.error(f"no part {', '.join(sorted(unknown))}; use {', '.join(CODE)}")
    if options.json and len(options.parts) != 1:
        parser.error("--json stores one part: name it")
    return options


def accurate(folder: Path | None, peers: Peers, quick: bool) -> list[Bar]:
    """Which detector finds the true changes, and nothing else."""
    per_cell, pairs = (6, 40) if quick else (40, 200)
    series = per_cell * len(noises(folder)) * len(SCENARIOS)
    placed = per_cell * len(noises(folder)) * (len(SCENARIOS) - 1)
    tuned, fresh = (accuracy.ours_injected(seed, folder, per_cell) for seed in (TUNED, FRESH))
    others = accuracy.peers_injected(peers, FRESH, folder, per_cell)
    worst, low = min(fresh["kinds"].items(), key=lambda item: item[1])
    whole, strict = ({name: row[k] for name, row in others.items()} for k in (0, 2))
    lowest = {name: min(row[1].values()) for name, row in others.items()}
    bars = [
        Bar(
            name="F1, injected shifts, without drifts",
            tuned=tuned["f1"],
            fresh=fresh["f1"],
            least=0.96,
            peers=whole,
            series=placed,
        ),
        Bar(
            name=f"F1 of the worst kind of noise of each detector (ours: {worst})",
            tuned=min(tuned["kinds"].values()),
            fresh=low,
            least=0.93,
            peers=lowest,
            series=placed,
        ),
        Bar(
            name="F1, every change of a drift counted as false",
            tuned=tuned["strict"],
            fresh=fresh["strict"],
            peers=strict,
            series=series,
        ),
        *(
            Bar(name=name, tuned=tuned[key], fresh=fresh[key], least=least, series=series)
            for name, key, least in (
                ("share of changes in drifts that are labelled drift", "drift labelled", None),
                ("share of changes in series of steps that are labelled drift", "steps mislabelled", None),
                ("share of true places inside the reported 95 % range", "place covered", 0.95),
                ("share of true effects inside the reported 95 % interval", "effect covered", 0.95),
                ("share of these series that are called unstable", "unstable", None),
            )
        ),
    ]
    if folder is not None:
        bars += [labelled(folder, peers), unstable(folder)]
    return [*bars, *repeats(pairs)]


def repeats(series: int) -> list[Bar]:
    """What repeats and measuring again are worth, or cost."""
    bars = []
    for name, measure, least in (
        ("F1 gained from known errors of repeats", accuracy.gain_of_known_errors, 0.1),
        ("F1 gained from 1 to 100 repeats in each run, as stored", production.gain_of_repeats, 0.1),
        ("F1 gained if a fifth of the subjects is measured again", production.measured_again, None),
    ):
        before, after = np.array([measure(seed, series) for seed in (TUNED, FRESH)]).T
        shown = f"{name} ({before[1]:.3f} to {after[1]:.3f})"
        tuned, fresh = (after - before).tolist()
        bars.append(Bar(name=shown, tuned=tuned, fresh=fresh, least=least, series=series))
    return bars


def labelled(folder: Path, peers: Peers) -> Bar:
    return Bar(
        name="F1, labelled CI histories, min effect 2 %",
        tuned=accuracy.ci_f1(folder, accuracy.ours_ci).f1,
        least=0.92,
        peers=accuracy.peers_ci(peers, folder),
        series=accuracy.ci_count(folder),
        tie=TIE,
    )


def unstable(folder: Path) -> Bar:
    found, histories = accuracy.unstable_histories(folder)
    name = "share of real CI histories that are called unstable, min effect 2 %"
    return Bar(name=name, tuned=found / histories, series=histories)


def online(folder: Path | None, peers: Peers, quick: bool) -> list[Bar]:
    """What is reported while points arrive."""
    asked = () if quick else ONLINE
    series, points = (4, 200) if quick else (40, 400)
    rates = [live.false_alarms(seed, folder, series, points) for seed in (TUNED, FRESH)]
    others = {name: live.peer_false_alarms(peers, name, FRESH, folder, series, points) for name in asked}
    means = [live.independent(rate) for rate in rates]
    bars = [
        Bar(
            name="false alarms per 1000 points, independent noise",
            tuned=means[0],
            fresh=means[1],
            most=0.5,
            peers={name: live.independent(rate) for name, rate in others.items()},
            series=series * len(live.PURE),
        )
    ]
    bars += [
        Bar(
            name=f"false alarms per 1000 points, {kind}",
            tuned=rates[0][kind],
            fresh=rates[1][kind],
            most=1.5,
            peers={name: rate.get(kind) for name, rate in others.items()},
            series=series,
        )
        for kind in rates[0]
        if kind not in live.PURE
    ]
    return [
        *bars,
        *spikes(folder, peers, asked, 5 if quick else 100),
        *delays(peers, asked, 8 if quick else 100, 100),
        *delays(peers, (), 8 if quick else 100, 60),
    ]


def spikes(folder: Path | None, peers: Peers, asked: tuple[str, ...], series: int) -> list[Bar]:
    """Peers are asked about normal noise only: the others are rows about ours."""
    bars = []
    others = {name: live.peer_spike_alarms(peers, name, FRESH, series) for name in asked}
    for kind in noises(folder):
        tuned, fresh = (live.spike_alarms(seed, series, kind, folder) for seed in (TUNED, FRESH))
        bars += [
            Bar(
                name=f"alarms per series with five 8-sigma spikes, {kind}",
                tuned=tuned[0],
                fresh=fresh[0],
                most=0.01,
                peers=others if kind == "gauss" else {},
                series=series,
            ),
            Bar(name="- of the same noise without spikes", tuned=tuned[1], fresh=fresh[1], series=series),
        ]  # fmt: skip
    return bars


#: (points before the shift, shift) -> most points until it is reported
DELAYS = {
    (100, "5 % at CV 1 %"): 3,
    (100, "2 sigma"): 7,
    (100, "1 sigma"): 40,
    (60, "1 sigma"): 34,
    (60, "2 sigma"): 6.5,
    (60, "3 sigma"): 4,
    (60, "5 sigma"): 3,
}


def delays(peers: Peers, asked: tuple[str, ...], series: int, before: int) -> list[Bar]:
    tuned, fresh = (live.delays(seed, series, before) for seed in (TUNED, FRESH))
    others = {name: live.peer_delays(peers, name, FRESH, series, before) for name in asked}
    return [
        Bar(
            name=f"points until a shift of {name} is reported within 5 points, {before} points before (median)",
            tuned=tuned[name],
            fresh=fresh[name],
            most=DELAYS.get((before, name)),
            peers={peer: row.get(name) for peer, row in others.items()},
            series=series,
        )
        for name in live.SHIFTS
    ]


def fast(folder: Path | None, peers: Peers, quick: bool) -> list[Bar]:
    """What it costs."""
    series = 4 if quick else 20
    more = speed.one_more_point(TUNED, series)
    otava = speed.peer_one_more_point(peers, TUNED, series)
    bars = [
        Bar(
            name=f"one more point, us ({average})",
            tuned=1e6 * more[average],
            most=10 if average == "median" else None,
            peers={"otava": otava and 1e6 * otava[average]},
            series=series,
        )
        for average in ("median", "mean")
    ]
    if otava:
        ratio = otava["mean"] / more["mean"]
        bars.append(
            Bar(name="one more point, times below Otava (means)", tuned=ratio, least=150, series=series)
        )
    around = 1e6 * more["mean around a step"]
    bars.append(Bar(name="one more point within 25 points of a step, us (mean)", tuned=around, series=series))
    for points, most in ((150, 1.0), (1000, 5.0)):
        others = {} if quick else {name: speed.peer_stateless(peers, name, points) for name in NAMES}
        bars.append(
            Bar(
                name=f"all of {points} points, ms",
                tuned=1e3 * speed.stateless(points),
                most=most,
                peers={name: seconds and 1e3 * seconds for name, seconds in others.items()},
                series=1,
            )
        )
    return [*bars, *many(folder, 3 if quick else 10)]


def many(folder: Path | None, per_cell: int) -> list[Bar]:
    """What many series cost at once."""
    cells = per_cell * len(noises(folder)) * len(SCENARIOS)
    usual, moved = speed.one_commit()
    return [
        Bar(
            name="many series at once, us per point",
            tuned=1e6 * speed.per_series_point(folder, per_cell),
            most=1,
            series=cells,
        ),
        Bar(name="20,000 points from cold, ms", tuned=1e3 * speed.cold(), most=100, series=200),
        Bar(
            name=f"one new commit, ms (median of {speed.BEST_OF})", tuned=1e3 * usual, most=20, series=200
        ),
        Bar(
            name=f"one new commit, ms (worst of the {speed.BEST_OF} after a shift of every series)",
            tuned=1e3 * moved,
            series=200,
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
