"""Records that are damaged in every way: a driver ends the run and drives another one."""

import json
import os
import shutil
import socket
import tempfile
from contextlib import chdir, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.engines.process import ProcessEngine, ProcessSettings
from anubis.model.cause import Cause
from anubis.model.metric import Metric, Output
from anubis.model.status import Status
from anubis.pipeline.reconciler import Reconciler
from anubis.record import layout, liveness
from anubis.settings import Settings
from anubis.store import FolderRecords
from anubis.submission.environment.handover import HomeEnvironments
from anubis.testing import FakeClock, FakeStore, FakeThreads, a_descriptor, a_run, a_world
from support.agents import HandmadeRecord
from support.datasets import cache_in

PATTERN = r"rate=(\S+)"
EXECUTION = {
    "phase": "measure", "repeat": 0, "code": 0, "started_s": 1.0, "ended_s": 2.0,
    "wall_s": 1.0, "user_s": 0.5, "system_s": 0.1, "peak_memory_bytes": 1000,
}  # fmt: skip
EXIT = {"code": 0, "cause": None, "reason": "", "executions": [EXECUTION], "extraction": "complete"}
FACTS = {"fingerprint": "machine"}
CONTENTS = {
    "not JSON": b"{",
    "empty": b"",
    "an empty object": b"{}",
    "a list": b"[]",
    "null": b"null",
    "not UTF-8": b"\xff\xfe",
    "a success without executions": json.dumps({**EXIT, " executions": 1}).encode().replace(b'"executions"', b'"other"'),
    "nested too deeply": b"[" * 100_000,
    **{
        f"{name} = {value!r:.20}": json.dumps({**EXIT, name: value}).encode()
        for name, value in [
            ("reason", None), ("reason", 7), ("cause", "bad luck"), ("cause", []), ("code", 3), ("code", 10**30),
            ("code", True), ("started_s", float("nan")), ("executions", None), ("executions", ["one"]),
            ("executions", [{**EXECUTION, "repeat": None}]), ("executions", [{"wall_s": 1.0}]),
            ("executions", [{**EXECUTION, "wall_s": 1e400}]), ("disk_free_bytes", "none"), ("extraction", 1),
        ]
    },
}  # fmt: skip


def make_socket(path):
    with chdir(path.parent), socket.socket(socket.AF_UNIX) as server:  # the path itself may be too long
        server.bind(path.name)


MAKERS = {
    "a FIFO": os.mkfifo,
    "a folder": os.mkdir,
    "a socket": make_socket,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to nothing": lambda path: path.symlink_to("nothing"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "unreadable content": lambda path: path.write_bytes(bytes(range(256)) * 300),
}


class Drive:
    """Two runs whose agents have ended, and a driver."""

    def __init__(self, home):
        self.store, self.threads, self.clock = FakeStore(), FakeThreads(), FakeClock()
        settings = ProcessSettings(folder=home / "process", records=home / "records", min_free_bytes=0)
        self.engine = ProcessEngine(settings)
        world = a_world(
            self.store,
            engines={"process": self.engine},
            records=FolderRecords(settings.records),
            environments=HomeEnvironments(Settings.from_env({"ANUBIS_HOME": str(home)}), {}),
            datasets=cache_in(home),
            clock=self.clock,
        )
        self.reconciler = Reconciler(world, "a driver", start=self.threads)
        self.bad, self.good = self.add(), self.add()

    def add(self):
        """A stored run, and its record as an agent leaves it."""
        output = Output(metrics=(Metric(name="rate", pattern=PATTERN, units="1"),))
        run = a_run(a_descriptor(output=output), engine="process")
        placement = self.engine._placements.of(run, self.folder_of(run))
        run = a_run(
            run.descriptor,
            id=run.id,
            engine="process",
            status=Status.WATCH,
            placement=placement,
            placed_s=1.0,
        )
        folder = Path(self.folder_of(run))
        folder.mkdir(parents=True)
        record = HandmadeRecord(folder)
        for line in range(300):
            record.write(b"rate=%d\n" % line)
        record.end()
        (folder / "patterns.json").write_text(json.dumps({"rate": {"pattern": PATTERN, "units": "1"}}))
        record.extract({"rate": PATTERN})
        (folder / "facts.json").write_text(json.dumps(FACTS))
        (folder / "exit.json").write_text(json.dumps(EXIT))
        os.close(liveness.claim(str(folder)))
        self.store.runs.add([(run, "text")], [])
        return run

    def folder_of(self, run):
        return layout.role_folder(str(self.engine._settings.records), run.id, run.attempt)

    def to_the_end(self):
        """The bad and the good run as they ended."""
        for _ in range(20):
            self.clock.advance(1.0)
            self.reconciler.turn()
            while self.threads.run():
                self.reconciler.turn()
        ended = [self.store.runs.get(run.id) for run in (self.bad, self.good)]
        assert [run.status.final for run in ended] == [True, True], [run.status for run in ended]
        assert self.rate(self.good) == 299.0
        return ended

    def rate(self, run):
        return next((p.value for p in self.store.points.of([run.id]) if p.metric == "rate"), None)


@contextmanager
def driven():
    home = Path(tempfile.mkdtemp())
    try:
        yield Drive(home)
    finally:
        shutil.rmtree(home)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_a_result_that_no_agent_writes_is_damage(content):
    with driven() as drive:
        Path(drive.folder_of(drive.bad), "exit.json").write_bytes(content)
        bad, _ = drive.to_the_end()
        assert (bad.status, bad.cause) == (Status.FAILED, Cause.RECORD_DAMAGED)
        assert "exit.json" in bad.reason
        assert drive.rate(bad) is None


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    "file",
    ["exit.json", "facts.json", "alive", "samples", "lines", "stdout", "patterns.json", "metrics.json"],
)
def test_something_else_in_the_place_of_a_file(file, make):
    with driven() as drive:
        path = Path(drive.folder_of(drive.bad), file)
        path.unlink()
        make(path)
        bad, _ = drive.to_the_end()
        assert (bad.status is Status.SUCCEEDED) == (drive.rate(bad) == 299.0)
        if file == "exit.json":
            assert bad.cause is Cause.RECORD_DAMAGED


@pytest.mark.parametrize("make", [lambda path: path.write_text("a file"), os.mkfifo, lambda path: None])
def test_something_else_in_the_place_of_the_record(make):
    with driven() as drive:
        path = Path(drive.folder_of(drive.bad))
        shutil.rmtree(path)
        make(path)
        bad, _ = drive.to_the_end()
        assert bad.cause is (Cause.RECORD_DAMAGED if path.exists() else Cause.LOST)


FILES = st.sampled_from(["exit.json", "facts.json", "metrics.json", "alive", "samples", "lines", "telemetry"])


@given(FILES, st.data())
@settings(max_examples=60)
def test_any_change_of_a_file_ends_the_run(file, data):
    with driven() as drive:
        path = Path(drive.folder_of(drive.bad), file)
        content = bytearray(path.read_bytes() if path.exists() else b"")
        at = data.draw(st.integers(0, len(content)), "at")
        kind = data.draw(st.sampled_from(["truncate", "insert", "overwrite", "remove"]), "kind")
        new = data.draw(st.binary(min_size=1, max_size=20), "new")
        if kind == "truncate":
            del content[at:]
        elif kind == "insert":
            content[at:at] = new
        elif kind == "overwrite":
            content[at : at + len(new)] = new
        path.write_bytes(content)
        if kind == "remove":
            path.unlink()
        bad, _ = drive.to_the_end()
        if bad.status is Status.SUCCEEDED and file != "samples":  # which has no checksums
            assert drive.rate(bad) == 299.0
