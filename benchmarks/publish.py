"""Measures everything that the documentation publishes, stores it in benchmarks/results and rewrites the pages.

python benchmarks/publish.py --peers-venv DIR [NAME ...]

NAME limits the measurements, for example to those that do not depend on the load of the machine: accuracy and comparisons.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from report import RESULTS

BENCHES = Path(__file__).parent
GENERATE = BENCHES.parent / "docs" / "generate.py"
#: Parts of the judge of verdicts that measure no times: a busy machine makes them slower and changes no figure.
NO_TIMES = (
    "accuracy", "online", "curves", "robustness", "gates", "comparisons", "metrics", "confirmation", "peers",
)  # fmt: skip
#: Name of the stored report -> the command that makes it.
COMMANDS = {
    **{part: ["detection", part] for part in (*NO_TIMES, "speed")},
    "gate": ["bench_gate.py"],
    "ab": ["bench_ab.py"],
    "store": ["bench_store.py"],
    "scale": ["bench_scale.py"],
    "cli": ["bench_cli.py"],
    "emit": ["bench_emit.py"],
    "null_run": ["bench_null_run.py"],
    "capture": ["bench_capture.py", "--rounds", "10"],
    "fetch": ["bench_fetch.py"],
    "slurm": ["bench_slurm.py"],
    "sweep": ["bench_sweep.py"],
    "schedules": ["bench_schedules.py"],
    "service": ["bench_service.py"],
    "requests": ["bench_requests.py"],
    "listing": ["bench_listing.py"],
    "container": ["bench_container.py", "--runs", "40"],
    "sandbox": ["bench_sandbox.py"],
}
WITH_PEERS = ("peers", "speed", "emit", "null_run")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(COMMANDS)}; default: all")
    parser.add_argument(
        "--peers-venv", type=Path, metavar="DIR", required=True, help="folder of the peers' environments"
    )
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(COMMANDS):
        parser.error(f"no bench {', '.join(sorted(unknown))}; use {', '.join(COMMANDS)}")
    for name in asked.names or COMMANDS:
        script, *options = COMMANDS[name]
        print(f"== {name}", flush=True)
        if name in WITH_PEERS:
            options += ["--peers-venv", asked.peers_venv]
        subprocess.run(
            [sys.executable, BENCHES / script, *options, "--json", RESULTS / f"{name}.json"], check=True
        )
    subprocess.run([sys.executable, GENERATE], check=True)


if __name__ == "__main__":
    main()
