"""A marathon: commands submit, run, drive, read and cancel while everything that they need fails at random.

    python -m chaos.marathon --seconds 1800 --seed 7 --database postgresql
    python -m chaos.marathon --seconds 1800 --seed 7 --target service

The seed determines what is done in which order; the moments depend on the machine. At the end everything works again,
a worker drives what is left, and the judge looks at every run. A failure keeps the home folder.
"""

import argparse
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from anubis.model.errors import AnubisError
from anubis.settings import Settings
from anubis.wiring import build
from chaos.disturbances import Clock, Disk, Processes
from chaos.judge import Verdict, judge
from chaos.service import ServiceMarathon, stop_all
from chaos.workload import LASTS_S, Workload
from support.postgresql import Cluster, binaries, cluster
from support.processes import left_in

#: Mean pause between two actions on an idle machine, seconds.
PAUSE_S = 0.25
#: Commands at the same time, and runs that are not final, above which nothing is submitted.
MOST_COMMANDS, MOST_RUNS = 4, 12
#: How long the last worker may take.
DRAIN_S = 300.0
#: Shifts of the wall clock, seconds.
SHIFTS_S = (-86_400, -3600, -5, 0, 5, 3600, 86_400)


class Marathon:
    """One installation and what is done to it."""

    def __init__(self, folder: Path, seed: int, server: Cluster | None) -> None:
        self.chance = random.Random(seed)
        self.done: Counter[str] = Counter()
        self.disk = Disk(folder / "disk")
        self.home = folder / "disk/home"
        self.clock = Clock(folder)
        self.server = server
        #: What is undone at which monotonic time: the disk is freed, the server started.
        self._later: list[tuple[float, str]] = []
        self.settings = {
            "ANUBIS_HOME": str(self.home),
            "ANUBIS_LEASE_S": "2",
            "ANUBIS_PROCESS_SLOTS": "2",
            "ANUBIS_MIN_FREE_BYTES": "0",
        }
        if server:
            self.settings["ANUBIS_DATABASE_URL"] = server.url
        self.workload = Workload(self.home, folder / "work", {**self.settings, **self.clock.environment})
        self.processes = Processes(self.chance, self.home, self.done)

    def run(self, seconds: float) -> None:
        """Disturb until the time is over."""
        end_s = time.monotonic() + seconds
        actions = {self.command: 5, self.processes.disturb: 6}
        if self.clock.can_step:
            actions[self.step_clock] = 0.4
        if self.disk.is_small:
            actions[self.fill_disk] = 0.1
        if self.server:
            actions[self.stop_server] = 0.1
        while time.monotonic() < end_s:
            (action,) = self.chance.choices(list(actions), list(actions.values()))
            action()
            time.sleep(self.chance.expovariate(1 / PAUSE_S) * _slowness())
            self.processes.let_continue()
            self._undo(time.monotonic())

    def command(self) -> None:
        """Start a command that a user may run at any time."""
        if self.workload.reap() >= MOST_COMMANDS:
            return
        name = f"{self.chance.choice(list(LASTS_S))}.toml"
        words = self.chance.choices(
            (
                ("submit", name, "--rounds", "2"),
                ("run", name),
                ("worker",),
                ("cancel", "@last"),
                ("cancel", "--all"),
                ("history",),
                ("status",),
                ("check", "@last"),
                ("doctor", "--database"),
            ),
            (8, 3, 3, 1, 0.2, 1, 1, 1, 0.3),
        )[0]
        if words[0] in {"submit", "run"} and self._unfinished() >= MOST_RUNS:
            return
        self.workload.start(*words)
        self.done[words[0]] += 1

    def step_clock(self) -> None:
        self.clock.set(self.chance.choice(SHIFTS_S))
        self.done["clock steps"] += 1

    def fill_disk(self) -> None:
        self.disk.fill()
        self.done["disk filled"] += 1
        self._later.append((time.monotonic() + self.chance.uniform(0.2, 3), "disk"))

    def stop_server(self) -> None:
        if any(what == "server" for _, what in self._later):
            return
        self.server.stop()
        self.done["server stopped"] += 1
        self._later.append((time.monotonic() + self.chance.uniform(0.1, 3), "server"))

    def _unfinished(self) -> int:
        """Runs that are not final; as many as are allowed while the database cannot be read."""
        try:
            installation = build(Settings.from_env(self.settings))
            try:
                return installation.world.runs.unfinished()
            finally:
                installation.close()
        except AnubisError:
            return MOST_RUNS

    def _undo(self, now_s: float) -> None:
        due = [each for each in self._later if each[0] <= now_s]
        self._later = [each for each in self._later if each[0] > now_s]
        for _, what in due:
            if what == "disk":
                self.disk.free()
            else:
                self.server.start()

    def notes(self) -> list[str]:
        """What this machine did not allow."""
        notes = []
        if not self.disk.is_small:
            notes.append("the disk was not filled: this needs the right to mount")
        if not self.clock.can_step:
            notes.append("the clock was not stepped: this needs a C compiler")
        return notes

    def remove(self) -> None:
        """Remove what is mounted."""
        self.disk.remove()

    def end(self) -> Verdict:
        """Undo every disturbance, drive what is left, and judge."""
        self._undo(float("inf"))
        self.disk.free()
        self.clock.set(0)
        self.processes.let_continue(everything=True)
        left = self._drain()
        self.workload.reap()
        verdict = judge(self.settings, self.workload.promised, self.workload.starts())
        verdict.broken += left
        return verdict

    def _drain(self) -> list[str]:
        """Drive until no process is left; the processes that are."""
        end_s = time.monotonic() + DRAIN_S
        worker = [sys.executable, "-m", "anubis", "worker"]
        environment = {**self.workload.anubis.environment(), **self.settings}
        while time.monotonic() < end_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    worker, env=environment, timeout=DRAIN_S, check=False, cwd=self.workload.anubis.folder
                )
            self.workload.reap()
            if not left_in(self.home):
                return []
            time.sleep(1)
        return [f"process {pid} was left: {_words(pid)}" for pid in left_in(self.home)]


def _slowness() -> float:
    """How many times longer a command takes on this machine now: otherwise none would live long enough to do anything."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _words(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--target", choices=("commands", "service"), default="commands")
    chosen = parser.parse_args()
    if chosen.target == "service":
        chosen.database = "postgresql"
    seed = random.SystemRandom().randrange(2**32) if chosen.seed is None else chosen.seed
    print(f"seed {seed}: {chosen.seconds:g} s of {chosen.target} on {chosen.database}", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="anubis-chaos-"))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(cluster(binaries())) if chosen.database == "postgresql" else None
        marathon: Marathon | ServiceMarathon
        if chosen.target == "service":
            marathon = ServiceMarathon(folder, seed, server)
            stack.callback(stop_all, marathon.replicas)
        else:
            marathon = Marathon(folder, seed, server)
        marathon.run(chosen.seconds)
        verdict = marathon.end()
    print("done:", ", ".join(f"{what} {count}" for what, count in sorted(marathon.done.items())))
    print("ends:", ", ".join(f"{end} {count}" for end, count in sorted(verdict.ends.items())) or "no run")
    for note in marathon.notes():
        print(note)
    if verdict.broken:
        print(*verdict.broken, sep="\n")
        print(f"{len(verdict.broken)} broken promises; the home is {marathon.home}")
        print(
            f"again: make chaos SECONDS={chosen.seconds:g} SEED={seed} DATABASE={chosen.database} TARGET={chosen.target}"
        )
        return 1
    marathon.remove()
    shutil.rmtree(folder)
    print("every run ended once, with its values or a cause")
    return 0


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(main())
