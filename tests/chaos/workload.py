"""A benchmark whose values are known, and the commands that users run meanwhile."""

import subprocess
import tempfile
from pathlib import Path
from typing import IO

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
        #: The commands that have not been collected, with the file of what they print.
        self._running: list[tuple[subprocess.Popen[bytes], IO[str]]] = []

    def start(self, *words: str) -> None:
        """Start a command; its output is read when it has ended.

        The output goes to a file: a pipe would not end before the worker that a command starts has closed it, and
        this worker may be stopped.
        """
        output = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed when the command is collected
        with (self.anubis.folder / "stderr").open("ab") as errors:
            process = subprocess.Popen(
                [BIN / "anubis", *words],
                cwd=self.anubis.folder,
                env=self.anubis.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )
        self._running.append((process, output))

    def reap(self) -> int:
        """Collect the commands that have ended, and the ids that were submitted; how many still run."""
        for process, output in [each for each in self._running if each[0].poll() is not None]:
            self._running.remove((process, output))
            with output:
                output.seek(0)
                if "submit" in process.args:
                    self.promised.update(output.read().split())
        return len(self._running)

    def starts(self) -> list[str]:
        """``run id, repeat`` of every execution."""
        path = self.anubis.folder / "starts"
        return path.read_text().splitlines() if path.exists() else []
