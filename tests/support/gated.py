"""A benchmark that waits until the test lets it go on, and what must hold of its runs whatever was killed meanwhile."""

import json
import os
import signal

from anubis.client import Client
from anubis.contracts.runs import RunQuery
from anubis.pipeline.record import Record
from anubis.record import liveness
from anubis.settings import Settings
from support.processes import left_in, until

#: Every execution says that it begins, prints, waits for a line of the gate, and prints a lot.
SCRIPT = """
echo "$ANUBIS_RUN_ID $ANUBIS_REPEAT" >> starts
echo first
{extra}
read line < gate
seq 1 20000
echo rate=$ANUBIS_REPEAT.5
echo last >&2
"""
STDOUT = b"first\n" + b"".join(b"%d\n" % number for number in range(1, 20001)) + b"rate=%d.5\n"
METRIC = """
[[output.metrics]]
name = "rate"
units = "1/s"
pattern = 'rate=(\\S+)'
"""


def client_of(home):
    """A client of that home, in the test's own process."""
    return Client.open(Settings.from_env({"ANUBIS_HOME": str(home)}))


def stored(home):
    """Every run in that home, oldest first."""
    if not (home / "anubis.db").exists():
        return []
    with client_of(home) as client:
        return list(client.runs.find(RunQuery(newest_first=False, limit=10_000)))


class Gated:
    """The benchmark, its descriptor, and a look into the home folder that its runs are stored in."""

    def __init__(self, anubis, *, extra="", more=""):
        self.anubis = anubis
        self.home = anubis.home
        (anubis.folder / "bench.sh").write_text(SCRIPT.format(extra=extra))
        self.file = anubis.write("gated.toml", "sh bench.sh", more=METRIC + more)
        os.mkfifo(anubis.folder / "gate")
        self._gate = os.open(anubis.folder / "gate", os.O_RDWR)

    def open_gate(self, executions=1):
        os.write(self._gate, b"go\n" * executions)

    def close(self):
        os.close(self._gate)
        for pid in left_in(self.home):
            os.kill(pid, signal.SIGKILL)

    def starts(self):
        """``run id, repeat`` of every execution that ever began."""
        path = self.anubis.folder / "starts"
        return path.read_text().splitlines() if path.exists() else []

    def rows(self):
        return stored(self.home)

    def records(self, name):
        """Files of this name in the records, of whatever run."""
        return list(self.home.glob(f"records/*/a*/benchmark/0/{name}"))

    def stdouts(self):
        return [path.read_bytes() for path in self.records("stdout")]

    def agent(self):
        """Process id of the one agent."""
        (file,) = self.records(liveness.NAME)
        return json.loads(file.read_bytes())["pid"]

    def wait_started(self, executions=1):
        """Until so many executions have printed, and what they printed is in a record."""
        until(lambda: len(self.starts()) >= executions, "the benchmark has started")
        until(
            lambda: sum(out.count(b"first\n") for out in self.stdouts()) >= executions, "its output is kept"
        )

    def check_whole(self, *, repeats=1):
        """Every run is final, once, with a cause or all it printed, was started at most once, and left no process."""
        rows = self.rows()
        with client_of(self.home) as client:
            for row in rows:
                self._check_run(client, row, repeats)
        starts = self.starts()
        assert len(starts) == len(set(starts)), "an execution was started twice"
        until(lambda: not left_in(self.home), "every process of these runs is gone")
        return rows

    def _check_run(self, client, row, repeats):
        assert row.status.final, row
        kinds = [event.kind for event in client.runs.events(row.id)]
        assert (kinds.count("submitted"), kinds.count("final")) == (1, 1), kinds
        assert (row.cause is None) == (row.status == "succeeded"), row
        if row.status == "succeeded":
            self._check_record(row.id, repeats)
            assert {point.metric for point in client.results.points([row.id])} > {"rate"}
        elif (folder := client.records.folder_of(client.runs.get(row.id))).exists():
            assert Record(folder).samples() is not None, "what there is of its record can be read"

    def _check_record(self, run_id, repeats):
        (stdout,) = self.home.glob(f"records/{run_id}/a*/benchmark/0/stdout")
        assert stdout.read_bytes() == b"".join(STDOUT % repeat for repeat in range(repeats))
        assert stdout.with_name("stderr").read_bytes() == b"last\n" * repeats
