"""Descriptors of runs with several replicas, and access to their records."""

import json
import sys

from anubis.record import layout
from anubis.record.files import FolderFiles
from anubis.record.reading import Record
from support.gated import client_of, stored
from support.processes import until

DISTRIBUTED = """
[hardware.distributed]
num_instances = {count}
"""
SERVER = """
[server.hardware]
instance_type = "local"
[server.env]
docker_image = "none"
ports = [{port}]
start_command = {command}
"""
READINESS = """
[server.env.readiness_probe]
{check}
initial_delay_seconds = 1
period_seconds = 1
max_wait_seconds = {wait}
"""
LIVENESS = """
[server.env.liveness_probe]
{check}
initial_delay_seconds = 1
period_seconds = 1
failure_threshold = 1
"""


def python(folder, name, program):
    """The command that runs this program from the working folder."""
    (folder / name).write_text(program)
    return f"{sys.executable} {name}"


class Replicas:
    """One run with several replicas, driven by a command in the background."""

    def __init__(self, anubis, strategy, command, more=""):
        self.anubis = anubis
        path = anubis.write("replicas.toml", command, more=more)
        path.write_text(path.read_text().replace("[ml]", f'strategy = "{strategy}"\n[ml]', 1))
        self.path = path

    def start(self):
        """Run it in the background; returns the process that drives it."""
        return self.anubis.start("run", self.path)

    def run(self):
        """Run it to its end; what the command printed."""
        return self.anubis("run", self.path)

    @property
    def row(self):
        (row,) = stored(self.anubis.home)
        return row

    def record(self, role, rank):
        """The folder of a replica."""
        run = self.row
        return self.anubis.home / "records" / run.id / "a1" / role / str(rank)

    def read(self, role, rank):
        return Record(FolderFiles(str(self.record(role, rank))))

    def agent(self, role, rank):
        """The process id of the agent of a replica, once its benchmark runs."""
        self.started(role, rank)
        return json.loads((self.record(role, rank) / layout.ALIVE).read_bytes())["pid"]

    def started(self, role, rank):
        """The process id of the benchmark of a replica, once it runs."""

        def look():
            if not stored(self.anubis.home):
                return None
            path = self.record(role, rank) / layout.EVENTS
            lines = path.read_text().splitlines() if path.exists() else []
            return next(
                (event for event in map(json.loads, lines) if event["event"] == "execution_started"), None
            )

        return until(look, f"{role} {rank} runs")["pid"]

    def values(self):
        with client_of(self.anubis.home) as client:
            return {point.metric: point.value for point in client.results.points([self.row.id])}
