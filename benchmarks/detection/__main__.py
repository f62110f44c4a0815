"""Judges the detector: prints every bar with our figure, on tuned and on fresh seeds, beside peers in the same run.

python benchmarks/detection [--quick] [--peers-venv DIR] [--data DIR] [--curves]
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import accuracy
import curves
import live
import speed
from corpus import DATA_VARIABLE, data_folder
from peers import NAMES, Peers
from table import Bar, show

#: The constants of the detector were chosen on these seeds.
TUNED = 1
#: Never used for choosing anything.
FRESH = 20261120


def main() -> int:
    options = arguments()
    folder = data_folder(options.data)
    if folder is None:
        print(
            f"the labelled series are absent: set {DATA_VARIABLE}; their bars and 'real' noise are left out"
        )
    if options.curves:
        curves.show(folder, quick=options.quick)
        return 0
    peers = Peers(options.peers_venv)
    bars = [bar for group in (right, alive, cheap) for bar in group(folder, peers, options.quick)]
    show(bars)
    if options.quick:
        print("--quick looks at few series: only the full run says whether a bar is held")
    for name, why in peers.absent.items():
        print(f"peer {name} takes no part: {why}")
    return 0 if not options.strict or all(bar.held is not False for bar in bars) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python benchmarks/detection", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few series, in seconds: for every commit")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument(
        "--curves", action="store_true", help="power and false alarms of the defaults instead of bars"
    )
    parser.add_argument(
        "--peers-venv", type=Path, metavar="DIR", help="environment of the peers; made when absent"
    )
    parser.add_argument("--data", metavar="DIR", help=f"the labelled series (else ${DATA_VARIABLE})")
    return parser.parse_args()


def right(folder: Path | None, peers: Peers, quick: bool) -> list[Bar]:
    """Which detector finds what is there, and nothing else."""
    tuned, fresh = (accuracy.ours_injected(seed, folder, 6 if quick else 40) for seed in (TUNED, FRESH))
    others = accuracy.peers_injected(peers, FRESH, folder, 2 if quick else 5)
    (_, low), (worst, fresh_low) = (
        min(one["kinds"].items(), key=lambda item: item[1]) for one in (tuned, fresh)
    )
    whole, strict = ({name: row[k] for name, row in others.items()} for k in (0, 2))
    lowest = {name: min(row[1].values()) for name, row in others.items()}
    bars = [
        Bar("F1, injected shifts", tuned["f1"], fresh["f1"], least=0.95, peers=whole),
        Bar(f"  worst kind of noise ({worst})", low, fresh_low, least=0.90, peers=lowest),
        Bar("  every change of a drift counted false", tuned["strict"], fresh["strict"], peers=strict),
        Bar("changes of a drift that are called drift", tuned["drift labelled"], fresh["drift labelled"]),
        Bar("steps that are called drift", tuned["steps mislabelled"], fresh["steps mislabelled"]),
        Bar("place inside its 95 % range", tuned["place covered"], fresh["place covered"], least=0.95),
        Bar("effect inside its 95 % interval", tuned["effect covered"], fresh["effect covered"], least=0.95),
    ]
    if folder is not None:
        own, others = accuracy.ci_f1(folder, accuracy.ours_ci).f1, accuracy.peers_ci(peers, folder)
        bars.append(Bar("F1, labelled CI series at min effect 2 %", own, least=0.92, peers=others))
    pairs = [accuracy.gain_of_known_errors(seed, 40 if quick else 200) for seed in (TUNED, FRESH)]
    name = f"F1 gained from known errors (to {pairs[1][1]:.2f})"
    return [*bars, Bar(name, *(known - unknown for unknown, known in pairs), least=0.08)]


def alive(folder: Path | None, peers: Peers, quick: bool) -> list[Bar]:
    """What is told while points arrive."""
    asked = () if quick else ("otava",)
    series, points = (4, 200) if quick else (40, 400)
    rates = [live.false_alarms(seed, folder, series, points) for seed in (TUNED, FRESH)]
    others = {name: live.peer_false_alarms(peers, name, FRESH, folder, 2, 300) for name in asked}
    independent, other = (
        [live.independent(rate) for rate in rates],
        {k: live.independent(v) for k, v in others.items()},
    )
    bars = [Bar("false alarms per 1000 points, independent noise", *independent, most=0.5, peers=other)]
    for kind in (kind for kind in rates[0] if kind not in live.PURE):
        other = {name: rate.get(kind) for name, rate in others.items()}
        bars.append(Bar(f"  {kind}", *(rate[kind] for rate in rates), most=1.5, peers=other))
    spikes = [live.spike_alarms(seed, 10 if quick else 100) for seed in (TUNED, FRESH)]
    other = {name: live.peer_spike_alarms(peers, name, FRESH, 4) for name in asked}
    bars.append(
        Bar("alarms per series with five 8-sigma spikes", *(told for told, _ in spikes), most=0, peers=other)
    )
    bars.append(Bar("  the same noise without spikes", *(told for _, told in spikes)))
    waits = [live.delays(seed, 8 if quick else 150) for seed in (TUNED, FRESH)]
    others = {name: live.peer_delays(peers, name, FRESH, 7) for name in asked}
    for name, most in (("5 % at CV 1 %", 3), ("2 sigma", 7), ("1 sigma", 40)):
        other = {peer: row.get(name) for peer, row in others.items()}
        bars.append(
            Bar(
                f"points until a shift of {name} is told",
                *(row[name] for row in waits),
                most=most,
                peers=other,
            )
        )
    return bars


def cheap(folder: Path | None, peers: Peers, quick: bool) -> list[Bar]:
    """What it costs."""
    more, otava = (
        speed.one_more_point(TUNED, series=4 if quick else 20),
        speed.peer_one_more_point(peers, TUNED),
    )
    bars = [
        Bar(
            "one more point, us (median)",
            1e6 * more["median"],
            most=10,
            peers={"otava": otava and 1e6 * otava},
        ),
        Bar("  mean", 1e6 * more["mean"]),
        Bar("  mean around a step", 1e6 * more["mean around a step"]),
    ]
    if otava:
        bars.append(Bar("  times below Otava (mean)", otava / more["mean"], least=150))
    for points, most in ((150, 1.0), (1000, 5.0)):
        others = {} if quick else {name: speed.peer_stateless(peers, name, points) for name in NAMES}
        others = {name: seconds and 1e3 * seconds for name, seconds in others.items()}
        bars.append(
            Bar(f"stateless, {points} points, ms", 1e3 * speed.stateless(points), most=most, peers=others)
        )
    usual, moved = speed.one_commit()
    return [
        *bars,
        Bar(
            "many series at once, us per series-point",
            1e6 * speed.per_series_point(folder, 3 if quick else 10),
            most=1,
        ),
        Bar("20,000 points in 200 series from cold, s", speed.cold(), most=0.5),
        Bar("one new commit for 200 series, ms", 1e3 * usual, most=20),
        Bar("  the commit that shifts all of them, ms", 1e3 * moved),
        Bar("compare two runs of 3,000 metrics with history, ms", 1e3 * speed.comparison(), most=300),
    ]


if __name__ == "__main__":
    sys.exit(main())
