"""The ledger of a long fuzz run: one JSON line for each batch, with the code that read it.

``python -m fuzz.ledger FILE`` prints the inputs and findings of each target, seed and version of the code.
"""

import json
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.tree import ROOT

if TYPE_CHECKING:
    from fuzz.run import Report


@cache
def version() -> str:
    """The commit of the code, marked if files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


class Ledger:
    """A file of batches."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.batches: list[dict[str, Any]] = []
        if path.exists():
            self.batches = [json.loads(line) for line in path.read_text().splitlines()]

    def has(self, target: str, seed: int, numbers: range) -> bool:
        """Whether this code read these inputs before."""
        wanted = (version(), target, seed, numbers.start, numbers.stop)
        return any(
            (each["code"], each["target"], each["seed"], each["start"], each["stop"]) == wanted
            for each in self.batches
        )

    def note(self, target: str, seed: int, numbers: range, report: "Report") -> None:
        line = {
            "code": version(),
            "target": target,
            "seed": seed,
            "start": numbers.start,
            "stop": numbers.stop,
            "inputs": report.inputs,
            "findings": report.first,
            "cpu_s": round(report.cpu_s, 2),
            "largest_s": round(report.largest_s, 3),
            "largest_bytes": report.largest_bytes,
        }
        self.batches.append(line)
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def main(path: Path) -> None:
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = defaultdict(list)
    for each in Ledger(path).batches:
        groups[each["target"], each["seed"], each["code"]].append(each)
    for (target, seed, code), batches in sorted(groups.items()):
        inputs = sum(each["inputs"] for each in batches)
        findings = {what for each in batches for what in each["findings"]}
        print(
            f"{target} seed {seed} code {code}: {inputs} inputs, {len(findings)} findings, "
            f"{sum(each['cpu_s'] for each in batches):.0f} s of processor time, "
            f"at most {max(each['largest_s'] for each in batches):.2f} s and "
            f"{max(each['largest_bytes'] for each in batches) >> 20} MB"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
