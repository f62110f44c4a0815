"""A benchmark whose values are known, and the commands that users run meanwhile."""

import subprocess
from pathlib import Path

from support.command import BIN, Command

#: Every execution prints the values 1 to LAST of ``rate``, and emits LAST as ``emitted``.
LAST = 300
SCRIPT = f"""
echo "$ANUBIS_RUN_ID $ANUBIS_REPEAT" >> starts
seq -f rate=%g 1 150
sleep $1
seq -f rate=%g 151 {LAST}
echo '{{"emitted": {LAST}}}' > "$BENCHMARK_AI_FIFO_FILEPATH"
sleep $1
"""
METRICS = """
[[output.metrics]]
name = "rate"
units = "1/s"
pattern = '^rate=(\\S+)'
[[output.metrics]]
name = "emitted"
units = "1/s"
"""
#: Seconds that the two halves of a benchmark last, by the name of its descriptor.
LASTS_S = {"quick": 0.05, "short": 0.7, "long": 2.0}


class Workload:
    """Commands in one home; what they promised."""

    def __init__(self, home: Path, folder: Path, environment: dict[str, str]) -> None:
        folder.mkdir()
        self.anubis = Command(home, folder)
        known = self.anubis.environment()
        self.anubis.environment = lambda: {**known, **environment}
        (folder / "bench.sh").write_text(SCRIPT)
        for name, seconds in LASTS_S.items():
            self.anubis.write(f"{name}.toml", f"sh bench.sh {seconds}", more=METRICS)
        #: Ids of the runs that ``submit`` has printed.
        self.promised: set[str] = set()
        self._running: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> None:
        """Start a command; its output is read when it has ended."""
        with (self.anubis.folder / "stderr").open("ab") as errors:
            process = subprocess.Popen(
                [BIN / "anubis", *words],
                cwd=self.anubis.folder,
                env=self.anubis.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if words[0] == "submit" else subprocess.DEVNULL,
                stderr=errors,
                text=True,
            )
        self._running.append(process)

    def reap(self) -> int:
        """Collect the commands that have ended, and the ids that they printed; how many still run."""
        for process in [each for each in self._running if each.poll() is not None]:
            self._running.remove(process)
            if process.stdout:
                with process.stdout:
                    self.promised.update(process.stdout.read().split())
        return len(self._running)

    def starts(self) -> list[str]:
        """``run id, repeat`` of every execution."""
        path = self.anubis.folder / "starts"
        return path.read_text().splitlines() if path.exists() else []
