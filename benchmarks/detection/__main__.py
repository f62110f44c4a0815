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
    bars = [
        *right(folder, peers, options.quick),
        *alive(folder, peers, options.quick),
        *cheap(folder, peers, options.quick),
    ]
    show(bars)
    for name, why in peers.absent.items():
        print(f"peer {name} takes no part: {why}")
    return 0 if all(bar.held for bar in bars) or not options.strict else 1


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
    per_cell = 6 if quick else 40
    tuned, fresh = (accuracy.ours_injected(seed, folder, per_cell) for seed in (TUNED, FRESH))
    others = accuracy.peers_injected(peers, FRESH, folder, 2 if quick else 10)
    worst = [min(one["kinds"].items(), key=lambda item: item[1]) for one in (tuned, fresh)]
    bars = [
        Bar(
            "F1, injected shifts",
            ">= .95",
            tuned["f1"],
            fresh["f1"],
            fresh["f1"] >= 0.95,
            {k: v[0] for k, v in others.items()},
        ),
        Bar(
            f"  worst kind of noise ({worst[1][0]})",
            ">= .90",
            worst[0][1],
            worst[1][1],
            worst[1][1] >= 0.90,
            {k: min(v[1].values()) for k, v in others.items()},
        ),
        Bar(
            "  with every change of a drift counted false",
            "",
            tuned["strict"],
            fresh["strict"],
            None,
            {k: v[2] for k, v in others.items()},
        ),
        Bar("changes of a drift that are called drift", "", tuned["drift labelled"], fresh["drift labelled"]),
        Bar("steps that are called drift", "", tuned["steps mislabelled"], fresh["steps mislabelled"]),
        Bar("place inside the reported range", ".95", tuned["place covered"], fresh["place covered"]),
    ]
    if folder is not None:
        own = accuracy.ci_f1(folder, accuracy.ours_ci).f1
        bars.append(
            Bar(
                "F1, labelled CI series at min effect 2 %",
                ">= .92",
                own,
                None,
                own >= 0.92,
                accuracy.peers_ci(peers, folder),
            )
        )
    pairs = [accuracy.gain_of_known_errors(seed, 40 if quick else 200) for seed in (TUNED, FRESH)]
    gains = [known - unknown for unknown, known in pairs]
    bars.append(
        Bar(
            f"F1 gained from known errors ({pairs[1][0]:.2f} -> {pairs[1][1]:.2f})",
            ">= .08",
            *gains,
            gains[1] >= 0.08,
        )
    )
    return bars


def alive(folder: Path | None, peers: Peers, quick: bool) -> list[Bar]:
    series, points = (4, 200) if quick else (40, 400)
    rates = [live.false_alarms(seed, folder, series, points) for seed in (TUNED, FRESH)]
    peer = (
        {}
        if quick
        else {name: live.peer_false_alarms(peers, name, FRESH, folder, 2, 300) for name in ("otava",)}
    )
    peer = {name: rate for name, rate in peer.items() if rate}
    pure = [sum(rate[kind] for kind in live.PURE) / len(live.PURE) for rate in rates]
    bars = [
        Bar(
            "false alarms per 1000 points, independent noise",
            "<= .5",
            *pure,
            pure[1] <= 0.5,
            {k: sum(v[kind] for kind in live.PURE) / len(live.PURE) for k, v in peer.items()},
        )
    ]
    bars += [
        Bar(
            f"  {kind}",
            "<= 1.5",
            rates[0][kind],
            rates[1][kind],
            rates[1][kind] <= 1.5,
            {k: v[kind] for k, v in peer.items()},
        )
        for kind in rates[0]
        if kind not in live.PURE
    ]
    spikes = [
        sum(len(live.alarms(row)) for row in live.spiky(seed, series)) / series for seed in (TUNED, FRESH)
    ]
    bars.append(Bar("alarms from five 8-sigma spikes, per series", "0", *spikes, spikes[1] == 0))
    waits = [live.delays(seed, 8 if quick else 150) for seed in (TUNED, FRESH)]
    peer_waits = {} if quick else {name: live.peer_delays(peers, name, FRESH, 7) for name in ("otava",)}
    for name, target in (("5 % at CV 1 %", 3), ("2 sigma", 7), ("1 sigma", 40)):
        others = {k: v[name] for k, v in peer_waits.items() if v}
        bars.append(
            Bar(
                f"points until a shift of {name} is told",
                f"<= {target}",
                waits[0][name],
                waits[1][name],
                waits[1][name] <= target,
                others,
            )
        )
    return bars


def cheap(folder: Path | None, peers: Peers, quick: bool) -> list[Bar]:
    more = speed.one_more_point(TUNED, series=4 if quick else 20)
    otava = speed.peer_one_more_point(peers, TUNED)
    bars = [
        Bar(
            "one more point, us (median)",
            "<= 10",
            1e6 * more["median"],
            None,
            more["median"] <= 10e-6,
            {"otava": 1e6 * otava} if otava else {},
        ),
        Bar("  mean", "", 1e6 * more["mean"]),
        Bar("  mean around a step", "", 1e6 * more["mean around a step"]),
    ]
    if otava:
        ratio = otava / more["median"]
        bars.append(Bar("  times below Otava", ">= 150", ratio, None, ratio >= 150))
    for points, target in ((150, 1.0), (1000, 5.0)):
        own = 1e3 * speed.stateless(points)
        others = {name: speed.peer_stateless(peers, name, points) for name in NAMES if not quick}
        bars.append(
            Bar(
                f"stateless, {points} points, ms",
                f"<= {target:g}",
                own,
                None,
                own <= target,
                {k: 1e3 * v for k, v in others.items() if v},
            )
        )
    each = 1e6 * speed.per_series_point(folder, 3 if quick else 10)
    cold, (usual, moved) = speed.cold(), speed.one_commit()
    compared = 1e3 * speed.comparison()
    return [
        *bars,
        Bar("many series at once, us per series-point", "<= 1", each, None, each <= 1.0),
        Bar("20,000 points in 200 series from cold, s", "<= .5", cold, None, cold <= 0.5),
        Bar("one new commit for 200 series, ms", "<= 20", 1e3 * usual, None, usual <= 0.02),
        Bar("  the commit that shifts all of them, ms", "", 1e3 * moved),
        Bar("compare two runs of 3,000 metrics, ms", "<= 300", compared, None, compared <= 300),
    ]


if __name__ == "__main__":
    sys.exit(main())
