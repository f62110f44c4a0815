"""Fuzzing: damages valid inputs and reports every error that the code does not document.

    python -m fuzz.run --count 1000000 --target emit --seed 7 --ledger fuzz.jsonl

Inputs are read in child processes, in batches, with limits of memory and of processor time for each input.
Seed, target and number make an input again: ``--only NUMBER``. With ``--ledger``, each batch is noted in a file, and batches
that the file lists for the same code are not read again, so that a long run can be continued.
"""

import argparse
import gc
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from fuzz import descriptors, old_submissions, record_files, transfers
from fuzz.ledger import Ledger
from fuzz.targets import Target

TARGETS: dict[str, Target] = {
    **descriptors.TARGETS,
    **record_files.TARGETS,
    **transfers.TARGETS,
    **old_submissions.TARGETS,
}
BATCH = 2000
#: Limits for each input: processor time, and memory above that of the interpreter with its libraries.
CPU_S, MEMORY_BYTES = 1.0, 300 << 20
#: A batch that does not end, for example in a blocking system call.
BATCH_S = 600


class SlowError(BaseException):
    """An input took longer than ``CPU_S``."""


@dataclass(slots=True)
class Report:
    """What was found about one target."""

    accepted: int = 0
    refused: int = 0
    #: Error and place -> how often, and the number of the first input.
    findings: Counter = field(default_factory=Counter)
    first: dict[str, int] = field(default_factory=dict)
    #: Processor time of all inputs, that of the slowest one, and its number.
    cpu_s: float = 0.0
    largest_s: float = 0.0
    slowest: int = 0
    largest_bytes: int = 0

    def note(self, what: str, number: int) -> None:
        self.findings[what] += 1
        self.first.setdefault(what, number)

    @property
    def inputs(self) -> int:
        return self.accepted + self.refused + self.findings.total()

    def add(self, other: "Report") -> None:
        """Add the report of another batch."""
        self.accepted += other.accepted
        self.refused += other.refused
        self.cpu_s += other.cpu_s
        if other.largest_s > self.largest_s:
            self.largest_s, self.slowest = other.largest_s, other.slowest
        self.largest_bytes = max(self.largest_bytes, other.largest_bytes)
        self.findings.update(other.findings)
        for what, number in other.first.items():
            self.first.setdefault(what, number)


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    frame = next((each for each in reversed(frames) if "/src/anubis/" in each.filename), frames[-1])
    return f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}: {str(error)[:100]!r}"


def _read(target: Target, seed: int, name: str, number: int, folder: Path) -> tuple[str, float]:
    """Read one input; what happened, and the processor time."""
    value = target.make(random.Random(f"{seed}/{name}/{number}"))
    place = folder / str(number)
    if target.needs_folder:
        place.mkdir()
    started_s = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, CPU_S)
    try:
        outcome = "accepted" if target.read(value, place) else "refused"
    except target.refusals:
        outcome = "refused"
    except (Exception, SlowError) as error:  # noqa: BLE001  this is what is looked for
        outcome = _place(error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    taken_s = time.process_time() - started_s
    if target.needs_folder:
        shutil.rmtree(place, ignore_errors=True)
    return outcome, taken_s


def _child(target: Target, seed: int, name: str, numbers: range, out: int) -> None:
    """Read a batch and write one JSON line for each input that was not read as expected, and one for the rest."""

    def too_slow(*_: object) -> None:
        raise SlowError

    signal.signal(signal.SIGPROF, too_slow)
    gc.freeze()  # no collection looks at the modules again
    before_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    resource.setrlimit(resource.RLIMIT_DATA, (before_bytes + MEMORY_BYTES,) * 2)
    counts: Counter[str] = Counter()
    largest_s, slowest = 0.0, numbers[0]
    folder = Path(
        tempfile.mkdtemp(prefix="anubis-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    )
    with os.fdopen(out, "w", buffering=1) as lines:
        for number in numbers:
            lines.write(f"{number}\n") if number % 100 == 0 else None
            outcome, taken_s = _read(target, seed, name, number, folder)
            if taken_s > largest_s:
                largest_s, slowest = taken_s, number
            if outcome in {"accepted", "refused"}:
                counts[outcome] += 1
            else:
                lines.write(json.dumps({"number": number, "finding": outcome}) + "\n")
        more_bytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before_bytes
        end = {
            **counts,
            "cpu_s": time.process_time(),  # a forked process starts at zero
            "largest_s": largest_s,
            "slowest": slowest,
            "largest_bytes": more_bytes,
        }
        lines.write(json.dumps(end) + "\n")
    shutil.rmtree(folder, ignore_errors=True)


def batch(target: Target, seed: int, name: str, numbers: range) -> Report:
    """Read the inputs with these numbers in a child process."""
    report = Report()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            _child(target, seed, name, numbers, writing)
        except BaseException:  # noqa: BLE001  the parent reports it
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    last = numbers[0]
    with os.fdopen(reading) as lines:
        for line in lines:
            noted = json.loads(line)
            if isinstance(noted, int):
                last = noted
            elif "finding" in noted:
                report.note(noted["finding"], noted["number"])
            else:
                report.accepted, report.refused = noted.pop("accepted", 0), noted.pop("refused", 0)
                for fact, value in noted.items():
                    setattr(report, fact, value)
    _, status = os.waitpid(pid, 0)
    if status:
        report.note(
            f"the process ended with {os.waitstatus_to_exitcode(status)} at one of the next 100 inputs", last
        )
    return report


def fuzz(
    name: str, count: int, seed: int, *, seconds: float | None = None, ledger: Ledger | None = None
) -> Report:
    """Read so many inputs of a target, or as many as there is time for; batches in the ledger are not read again."""
    target, report = TARGETS[name], Report()
    end_s = time.monotonic() + seconds if seconds else float("inf")
    for start in range(0, count, BATCH):
        if time.monotonic() > end_s:
            break
        numbers = range(start, min(count, start + BATCH))
        if ledger and ledger.has(name, seed, numbers):
            continue
        of_batch = batch(target, seed, name, numbers)
        report.add(of_batch)
        if ledger:
            ledger.note(name, seed, numbers, of_batch)
    return report


def _show(name: str, seed: int, report: Report) -> None:
    print(
        f"{name}: {report.inputs} inputs, {report.accepted} accepted, {report.refused} refused, "
        f"{report.findings.total()} findings; {report.inputs / (report.cpu_s or 1):.0f} inputs per second of processor time; "
        f"at most {report.largest_s:.2f} s (input {report.slowest}) and {report.largest_bytes >> 20} MB",
        flush=True,
    )
    for what, times in report.findings.most_common(30):
        print(
            f"  {times} x {what}; again: python -m fuzz.run --target {name} --seed {seed} --only {report.first[what]}"
        )


def _repeat(name: str, seed: int, number: int) -> None:
    """Read one input without limits, and show its traceback."""
    value = TARGETS[name].make(random.Random(f"{seed}/{name}/{number}"))
    print(repr(value)[:4000])
    with tempfile.TemporaryDirectory() as folder:
        print(TARGETS[name].read(value, Path(folder)))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seconds", type=float, help="for each target")
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", type=int, help="read only the input with this number")
    parser.add_argument("--ledger", type=Path, help="file in which each batch is noted")
    chosen = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if chosen.seed is None else chosen.seed
    if chosen.only is not None:
        _repeat(chosen.target, seed, chosen.only)
        return 0
    print(f"seed {seed}")
    ledger = chosen.ledger and Ledger(chosen.ledger)
    found = 0
    for name in [chosen.target] if chosen.target else TARGETS:
        report = fuzz(name, chosen.count, seed, seconds=chosen.seconds, ledger=ledger)
        _show(name, seed, report)
        found += report.findings.total()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
