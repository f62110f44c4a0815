"""A service, real workers that joined it, each with a separate home folder, and a benchmark that waits for the test."""

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

from anubis.contracts.runs import RunQuery
from anubis.record import layout
from support.agents import is_running
from support.command import BIN, PATIENCE_S
from support.processes import left_in, until
from support.service import Service

SCRIPT = """
echo "$ANUBIS_RECORD" >> {folder}/starts
echo first
read line < {folder}/gate
seq 1 20000
echo rate=1.5
echo last >&2
"""
STDOUT = b"first\n" + b"".join(b"%d\n" % number for number in range(1, 20001)) + b"rate=1.5\n"
DESCRIPTOR = """spec_version = "1.0"
[info]
name = "gated"
execution_engine = "joined"
[hardware]
instance_type = "{label}"
[ml]
benchmark_code = "sh {folder}/bench.sh"
[[output.metrics]]
name = "rate"
units = "1/s"
pattern = 'rate=(\\S+)'
{more}
"""
#: Short, so that tests of lost workers end soon.
LEASE_S = "2"


class JoinedWorker:
    """``anubis worker --join`` in a home folder."""

    def __init__(self, folder, name, token, *words, prefix=(), **environ):
        """``prefix``: words before the command, for example those of a network namespace."""
        self.name, self.home = name, folder / name
        self.log = folder / f"{name}.log"
        self._token, self._words, self._environ, self._prefix = token, words, environ, prefix
        self.process = None

    def start(self, url):
        """Start it and wait until it has joined."""
        self.begin(url)
        line = self.process.stdout.readline()
        assert line.startswith("joined "), self.log.read_text()
        return self

    def begin(self, url):
        """Start it without waiting."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self._prefix, BIN / "anubis", "worker", "--join", url, *self._words],
                env={
                    **os.environ,
                    "ANUBIS_HOME": str(self.home),
                    "ANUBIS_WORKER_TOKEN": self._token,
                    **self._environ,
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return self

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        """End it; its exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.send_signal(signal.SIGCONT)
        status = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        self.process = None
        return status

    def kill(self):
        """kill -9"""
        self.end(signal.SIGKILL)

    def agents(self):
        """Process ids of agents that run."""
        found = []
        for file in self.home.glob(f"records/*/a*/*/*/{layout.ALIVE}"):
            pid = json.loads(file.read_bytes()).get("pid")
            if pid and is_running(pid):
                found.append(pid)
        return found

    def is_clean(self):
        """Whether nothing is left of its attempts."""
        return not list(self.home.glob("records/*")) and not list(self.home.glob("worker/*.*.json"))


class Site:
    """The service and its workers."""

    def __init__(self, folder, **environ):
        self.folder = Path(folder)
        environ = {"ANUBIS_LEASE_S": LEASE_S, **environ}
        self.service = Service(self.folder / "served", **environ)
        self.workers = []
        os.mkfifo(self.folder / "gate")
        self._gate = os.open(self.folder / "gate", os.O_RDWR)
        (self.folder / "bench.sh").write_text(SCRIPT.format(folder=self.folder))
        self.service.start()
        self.client = self.service.client()

    def anubis(self, *words):
        """A command on the machine of the service."""
        return subprocess.run(
            [BIN / "anubis", *map(str, words)],
            env={**os.environ, "ANUBIS_HOME": str(self.service.home)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def token(self, name):
        made = self.anubis("worker", "token", name)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def worker(self, name="one", *words, token=None, start=True, **environ):
        """A new worker."""
        made = JoinedWorker(self.folder, name, token or self.token(name), *words, **environ)
        self.workers.append(made)
        return made.start(self.service.url) if start else made

    def submit(self, *, label="local", more="", text=None):
        """The id of a new run."""
        path = self.folder / "bench.toml"
        path.write_text(text or DESCRIPTOR.format(label=label, folder=self.folder, more=more))
        (run,) = self.client.runs.submit([path])
        return run.id

    def open_gate(self, count=1):
        os.write(self._gate, b"go\n" * count)

    def starts(self):
        """The records of all executions that were started."""
        path = self.folder / "starts"
        return path.read_text().splitlines() if path.exists() else []

    def wait_started(self, run_id, attempt=1):
        """Wait until the benchmark runs, and its first output is at the service."""
        until(lambda: self.shipped(run_id, "stdout", attempt).startswith(b"first\n"), "it runs")

    def wait_final(self, run_id):
        return until(lambda: (run := self.client.runs.get(run_id)).status.final and run, "the run is final")

    def wait_status(self, run_id, what, condition):
        return until(lambda: condition(self.client.runs.get(run_id)), what)

    def kinds(self, run_id):
        return [event.kind for event in self.client.runs.events(run_id)]

    def record(self, run_id, attempt=1, role="benchmark", rank=0):
        return Path(layout.role_folder(str(self.service.home / "records"), run_id, attempt, role, rank))

    def shipped(self, run_id, file, attempt=1):
        """What the service has of a file."""
        path = self.record(run_id, attempt) / file
        return path.read_bytes() if path.exists() else b""

    def check_whole(self, run_id, attempt=1):
        """Assert that the run succeeded once, with a complete record and its value."""
        run = self.wait_final(run_id)
        assert run.status == "succeeded", (run, [*self.client.runs.events(run_id)])
        assert (run.attempt, self.kinds(run_id).count("final")) == (attempt, 1)
        assert self.shipped(run_id, "stdout", attempt) == STDOUT
        assert self.shipped(run_id, "stderr", attempt) == b"last\n"
        values = {point.metric: point.value for point in self.client.results.points([run_id])}
        assert values["rate"] == 1.5
        starts = self.starts()
        assert len(starts) == len(set(starts)), "an execution was started twice"
        return run

    def close(self):
        self.client.close()
        for worker in self.workers:
            worker.kill()
        self.service.stop()
        os.close(self._gate)
        for pid in left_in(self.folder):
            with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                os.kill(pid, signal.SIGKILL)

    def found(self, name):
        return self.client.workers.get(name)

    def stored(self):
        return self.client.runs.find(RunQuery(newest_first=False, limit=100))
