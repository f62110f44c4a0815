"""Many agents, samples and followers at one service, with the tool benchmarks/load_tool.py in a separate process.

python benchmarks/bench_load.py [--agents 1000] [--followers 5000] [--seconds 20] [--peers-venv DIR] [--quick] [--json FILE]

Agents ship lines, time index and samples every second; every acknowledged byte is on the disk, and afterwards every file of
every record is compared by its digest. With --peers-venv, MLflow's tracking server on SQLite gets the same samples in the
same run, from the same number of connections.
"""

import argparse
import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from load_tool import Record
from peerenv import python_with, version_in
from report import Report, add_option

from anubis.model.machines import token as machine_token
from anubis.model.machines.joined import Assignment
from anubis.model.run import Seen
from anubis.model.status import Status
from anubis.record import samples as samples_file
from anubis.record.files import FolderFiles
from anubis.settings import Settings
from anubis.testing import a_run
from anubis.wiring import build

TOOL = Path(__file__).with_name("load_tool.py")
MLFLOW = "mlflow"
#: Records that send samples as fast as they can, one request at a time each.
SENDERS = 64
#: Samples of one request of a batch.
BATCH = 1000
#: Lines that followers get, and lines of one append.
FOLLOWED_LINES, APPENDED_LINES = 2000, 100
TEXT = 'spec_version = "1.0"\n'
#: Most and least of a row.
MOST = {"request p99 of agents, ms": 250, "service with all followers, MB": 300}
LEAST = {"single samples, 1/s": 1000, "samples in batches of 1,000, 1/s": 100_000}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--followers", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--peers-venv", type=Path, metavar="DIR", help="folder of the peers' environments")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the agents and followers, short times"
    )
    add_option(parser)
    asked = parser.parse_args()
    if asked.quick:
        asked.agents, asked.followers, asked.seconds = asked.agents // 10, asked.followers // 10, 3.0
    report = Report(quick=asked.quick)
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(Path(folder), asked)
        peer = peer_of(Path(folder), asked)
    titles = ["", "Anubis", *([f"MLflow {peer['version']}"] if peer else []), "bar", ""]
    cells = [
        [name, shown(value), *([shown(peer.get(name))] if peer else []), *bar(name, value)]
        for name, value in rows.items()
    ]
    report.add("load", [titles, *cells], title="one service, all clients on the same cores")
    report.save(asked.json)


def shown(value):
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def bar(name, value):
    if name in MOST:
        return [f"at most {MOST[name]:,}", "met" if value <= MOST[name] else "**missed**"]
    if name in LEAST:
        return [f"at least {LEAST[name]:,}", "met" if value >= LEAST[name] else "**missed**"]
    return ["", ""]


def measured(folder, asked):
    rows, home = {}, folder / "home"
    plan = plan_of(home, asked.agents + 2 * SENDERS + 1)
    agents, rest = plan[: asked.agents], plan[asked.agents :]
    with service(home) as (url, pid):
        rows["service without clients, MB"] = resident_mb(pid)
        found, cpu = loaded(pid, folder, "agents", url, agents, "--seconds", asked.seconds)
        rows[f"agents, each with {LOAD}"] = asked.agents
        rows["requests of agents, 1/s"] = found["per_s"]
        rows["request p50 of agents, ms"] = found["p50"]
        rows["request p99 of agents, ms"] = found["p99"]
        rows["CPU of the service meanwhile, % of a core"] = cpu
        rows["intervals that ended late"] = found["late"]
        checked = found["records"]
        for name, senders, batch in (
            ("single samples, 1/s", rest[:SENDERS], 1),
            (f"samples in batches of {BATCH:,}, 1/s", rest[SENDERS:-1], BATCH),
        ):
            seconds = asked.seconds / 4
            found, _ = loaded(pid, folder, "samples", url, senders, "--seconds", seconds, "--batch", batch)
            rows[name] = found["samples_per_s"]
            rows[name.replace(", 1/s", ", request p99, ms")] = found["p99"]
            checked += found["records"]
    rows["files that differ from what was acknowledged"] = differing(home, checked)
    with service(home) as (url, pid):
        rows |= followed(url, pid, rest[-1], asked.followers)
    return rows


LOAD = "5 lines and 20 samples a second"


def plan_of(home, count):
    """Paths and tokens of the records of so many attempts that joined workers have."""
    installation, plan = build(Settings.from_env({"ANUBIS_HOME": str(home)})), []
    with contextlib.closing(installation):
        runs = [a_run(status=Status.WATCH, attempt=1, engine="joined", due_s=4e9) for _ in range(count)]
        installation.world.runs.add([(run, TEXT) for run in runs], [])
        for run in runs:
            token = machine_token.new_token(machine_token.ATTEMPT)
            installation.store.joined.queue(
                Assignment(
                    run_id=run.id,
                    attempt=1,
                    queued_s=time.time(),
                    worker="loading",
                    is_taken=True,
                    seen=Seen.RUNNING,
                    token=machine_token.digest_of(token),
                )
            )
            plan.append({"path": f"/api/v1/runs/{run.id}/record/1/benchmark/0", "token": token})
    return plan


@contextlib.contextmanager
def service(home):
    """Address and process id of a service that only answers."""
    command = [sys.executable, "-m", "anubis", "serve", "--listen", "127.0.0.1:0", "--role", "api"]
    environ = {**os.environ, "ANUBIS_HOME": str(home)}
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        url = process.stdout.readline().strip()
        answers(f"{url}/readyz")
        try:
            yield url, process.pid
        finally:
            process.send_signal(signal.SIGTERM)


def answers(url):
    until_s = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10):
                return
        except OSError:
            if time.monotonic() > until_s:
                raise
            time.sleep(0.05)


def loaded(pid, folder, command, url, plan, *words):
    """What the tool found, and the CPU of the service in percent of a core."""
    path = folder / "plan.json"
    path.write_text(json.dumps(plan))
    before_s, begun_s = cpu_s(pid), time.monotonic()
    done = subprocess.run(
        [sys.executable, TOOL, command, url, path, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    cpu = 100 * (cpu_s(pid) - before_s) / (time.monotonic() - begun_s)
    return json.loads(done.stdout.splitlines()[-1]), cpu


def differing(home, records):
    """Files whose bytes, and records whose samples, are not those that were acknowledged."""
    wrong = 0
    for each in records:
        _, _, _, _, run_id, _, attempt, role, rank = each["path"].split("/")
        folder = home / "records" / run_id / f"a{attempt}" / role / rank
        for file, digest in each["digests"].items():
            wrong += hashlib.sha256((folder / file).read_bytes()).hexdigest() != digest
        wrong += len(samples_file.load(FolderFiles(str(folder)))["loss"]) != each["samples"]
    return wrong


def followed(url, pid, plan, count):
    """Followers of the output of one run while lines arrive."""
    run_id = plan["path"].split("/")[4]
    command = ["followers", url, f"/api/v1/runs/{run_id}/logs", "--count", str(count), "--seconds", "300"]
    command += ["--lines", str(FOLLOWED_LINES)]
    with subprocess.Popen([sys.executable, TOOL, *command], stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout.readline() == "ready\n"
        connected_mb, largest_mb = resident_mb(pid), 0.0
        lines = Lines(url, plan)
        before_s, begun_s = cpu_s(pid), time.monotonic()
        while lines.count < FOLLOWED_LINES:
            lines.append(APPENDED_LINES)
            time.sleep(0.5)
            largest_mb = max(largest_mb, resident_mb(pid))
        found = json.loads(tool.stdout.readlines()[-1])
        cpu = 100 * (cpu_s(pid) - before_s) / (time.monotonic() - begun_s)
    whole = [each for each in found["kinds"] if (each["lines"], each["digest"]) == lines.expected()]
    return {
        "followers of one run": count,
        "followers that got every line once, in order": whole[0]["followers"] if whole else 0,
        "service when all are connected, MB": connected_mb,
        "service with all followers, MB": max(largest_mb, resident_mb(pid)),
        "a line at a follower after its arrival, p50, ms": found["p50"],
        "a line at a follower after its arrival, p99, ms": found["p99"],
        "CPU of the service with followers, % of a core": cpu,
    }


class Lines:
    """The agent whose lines are followed."""

    def __init__(self, url, plan):
        self._record, self._url = Record(plan, self), url
        self._digest = hashlib.sha256()

    async def ask(self, method, path, body, headers):
        """As the connection of the tool."""
        name, _, value = headers.strip().partition(": ")
        request = urllib.request.Request(f"{self._url}{path}", body, {name: value}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: ASYNC210  nothing else runs
            return answer.status, answer.read()

    @property
    def count(self):
        return self._record.lines

    def append(self, count):
        lines, entries = self._record.some_lines(count)
        self._digest.update(lines)
        with contextlib.suppress(StopIteration):
            self._record.append(stdout=lines, lines=entries).send(None)

    def expected(self):
        return self._record.lines, self._digest.hexdigest()


def peer_of(folder, asked):
    """The rows of MLflow; none without an environment."""
    python = python_with(asked.peers_venv, MLFLOW, MLFLOW)
    if python is None:
        return {}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, store = f"http://127.0.0.1:{port}", f"sqlite:///{folder / 'mlflow.db'}"
    words = [
        "server",
        "--backend-store-uri",
        store,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--workers",
        "1",
    ]
    with subprocess.Popen(
        [python.with_name("mlflow"), *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            answers(f"{url}/health")
            rows = {"version": version_in(python, MLFLOW)}
            plan = [{"path": mlflow_run(url), "token": ""} for _ in range(SENDERS)]
            for name, batch in (("single samples, 1/s", 1), (f"samples in batches of {BATCH:,}, 1/s", BATCH)):
                words = ("--seconds", asked.seconds / 4, "--batch", batch, "--to", "mlflow")
                found, _ = loaded(process.pid, folder, "samples", url, plan, *words)
                rows[name] = found["samples_per_s"]
                rows[name.replace(", 1/s", ", request p99, ms")] = found["p99"]
            return rows
        finally:
            os.killpg(process.pid, signal.SIGTERM)


def mlflow_run(url):
    """The id of a new run of MLflow."""
    body = json.dumps({"experiment_id": "0", "start_time": int(1000 * time.time())}).encode()
    request = urllib.request.Request(
        f"{url}/api/2.0/mlflow/runs/create", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["run"]["info"]["run_id"]


def cpu_s(pid):
    """User and system time of a process, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
