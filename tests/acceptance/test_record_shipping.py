"""Agents that ship their records to a receiver, over a network and with processes that fail."""

import os
import signal
import subprocess
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

from anubis.contracts.records import RecordKey
from anubis.model.ids import new_run_id
from anubis.record import layout
from anubis.store import FolderRecords
from anubis.testing import a_run
from support.agents import Agents, is_running, python
from support.processes import left_in, until
from support.receiver import TOKEN, receiving

SHIPPED = {*layout.GROWING, *layout.REPLACED}
WITH_TOKEN = {"ANUBIS_SHIP_TOKEN": TOKEN}
LINES = "import sys, time\nfor i in range({count}): print('line', i, 'x' * 1000, flush=True)"


@pytest.fixture
def agents(tmp_path):
    """Nothing that it starts outlives the test."""
    yield Agents(tmp_path)
    for pid in left_in(tmp_path):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def run():
    return a_run(id=new_run_id())


@pytest.fixture
def records(tmp_path):
    return FolderRecords(tmp_path / "received")


def contents(records, run):
    key = RecordKey(run.id, 1)
    return {
        each.file: records.read(key, each.file, 0, each.size_bytes + 1) for each in records.list(run.id, 1)
    }


def original(agents):
    return {path.name: path.read_bytes() for path in agents.record.iterdir() if path.name in SHIPPED}


def shippers(agents):
    """Process ids of the shippers of this record."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"ship" in words and os.fsencode(agents.record) in words and is_running(int(process.name)):
            found.append(int(process.name))
    return found


def start_shipper(agents, url, *options):
    words = [*agents.words("ship"), "--ship", url, *map(str, options)]
    return subprocess.Popen(words, env={**os.environ, **WITH_TOKEN}, stderr=subprocess.PIPE)


def has_sent(shipper, requests, count):
    return shipper.poll() is not None or len(requests) > count


def test_an_agent_ends_when_the_receiver_has_all_of_its_record(agents, run, records):
    with receiving(records, run) as receiver:
        command = ["sh", "-c", "env; echo error >&2; exit 3"]
        started = agents.start("--ship", receiver.url(), command=command, env=WITH_TOKEN)
        assert started.wait() == 3
    assert contents(records, run) == original(agents)
    assert {"exit.json", "facts.json", "stdout", "stderr", "lines", "events.jsonl"} <= contents(
        records, run
    ).keys()
    assert TOKEN.encode() not in b"".join(contents(records, run).values()), (
        "the benchmark must not see the token"
    )
    assert shippers(agents) == []


def test_a_token_may_come_from_a_private_file(agents, run, records, tmp_path):
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    with receiving(records, run) as receiver:
        options = ("--ship", receiver.url(), "--ship-token", tmp_path / "token")
        assert agents.start(*options, command=["true"]).wait() == 0
    assert contents(records, run) == original(agents)


def test_a_record_arrives_while_it_is_written(agents, run, records):
    with receiving(records, run) as receiver:
        command = ["sh", "-c", "echo first; read line < go; echo last"]
        os.mkfifo(agents.record.parent / "go")
        options = ("--ship", receiver.url(), "--cwd", agents.record.parent)
        started = agents.start(*options, command=command, env=WITH_TOKEN)
        until(lambda: contents(records, run).get("stdout") == b"first\n", "the first line has arrived")
        assert "exit.json" not in contents(records, run)
        (agents.record.parent / "go").write_text("go\n")
        assert started.wait() == 0
    assert contents(records, run) == original(agents)


def test_a_shipper_that_is_killed_is_replaced(agents, run, records):
    with receiving(records, run) as receiver:
        receiver.stop()
        started = agents.start(
            "--ship", receiver.url(), command=python(LINES.format(count=3000)), env=WITH_TOKEN
        )
        for _ in range(3):
            (pid,) = until(lambda: shippers(agents), "a shipper runs")
            os.kill(pid, signal.SIGKILL)
            until(lambda pid=pid: not is_running(pid), "it is gone")
        receiver.start()
        assert started.wait() == 0
    assert contents(records, run) == original(agents)


def test_every_failure_of_network_and_receiver_ends_in_the_same_bytes(agents, run, records):
    """Kills at every stage of the transfer, on top of a receiver that fails in each way it can."""
    agents.measure(command=python(LINES.format(count=10_000)))
    faults = cycle(["drop", None, "cut", None, "error", "lose", None])
    requests = []

    def fault(request):
        requests.append(request.target)
        return next(faults)

    with receiving(records, run, fault) as receiver:
        kills = 0
        while True:
            seen = len(requests)
            shipper = start_shipper(agents, receiver.url())
            until(partial(has_sent, shipper, requests, seen + 2), "it has sent something")
            if kills < 8:
                shipper.kill()
                kills += 1
            shipper.stderr.close()
            if shipper.wait() == 0:
                break
    assert contents(records, run) == original(agents)


def test_a_receiver_that_is_stopped_and_started_again_gets_the_rest(agents, run, records):
    agents.measure(command=python(LINES.format(count=10_000)))
    stops = []

    def fault(request):
        if "stdout" in request.target and len(stops) < 3:
            stops.append(request.target)
            return "drop"
        return None

    with receiving(records, run, fault) as receiver:
        shipper = start_shipper(agents, receiver.url())
        for number in range(1, 4):
            until(lambda number=number: len(stops) >= number, "a part has arrived")
            receiver.stop()
            receiver.start()
        shipper.stderr.close()
        assert shipper.wait() == 0
    assert contents(records, run) == original(agents)


def test_a_full_disk_of_the_receiver_is_waited_for(agents, run, records, monkeypatch):
    agents.measure(command=python(LINES.format(count=2000)))
    real, refused = os.pwrite, []

    def pwrite(opened, data, offset):
        if len(refused) < 4 and offset >= 100_000:
            refused.append(offset)
            raise OSError(28, "No space left on device")
        return real(opened, data[:65_536], offset)

    monkeypatch.setattr("anubis.record.appending.os.pwrite", pwrite)
    with receiving(records, run) as receiver:
        shipper = start_shipper(agents, receiver.url())
        shipper.stderr.close()
        assert shipper.wait() == 0
    assert len(refused) == 4
    assert contents(records, run) == original(agents)


def test_a_wrong_token_ends_the_shipper_and_not_the_run(agents, run, records):
    with receiving(records, run) as receiver:
        options = ("--ship", receiver.url())
        env = {"ANUBIS_SHIP_TOKEN": "wrong"}
        started = agents.start(*options, command=["true"], env=env, stderr=subprocess.PIPE)
        _, errors = started.communicate()
    assert started.returncode == 0
    assert b"not valid for this run" in errors
    assert b"wrong" not in errors
    assert agents.json("exit.json")["code"] == 0
    assert records.attempts(run.id) == []


def test_a_record_shipped_twice_is_the_same_record(agents, run, records):
    agents.measure(command=["echo", "once"])
    with receiving(records, run) as receiver:
        for _ in range(2):
            shipper = start_shipper(agents, receiver.url())
            shipper.stderr.close()
            assert shipper.wait() == 0
    assert contents(records, run) == original(agents)


def test_a_stopped_shipper_does_not_keep_its_agent(agents, run, records, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with receiving(records, run) as receiver:
        command = ["sh", "-c", f"echo line; read line < {gate}"]
        started = agents.start("--ship", receiver.url(), command=command, env=WITH_TOKEN)
        (shipper,) = until(lambda: shippers(agents), "the shipper runs")
        os.kill(shipper, signal.SIGSTOP)
        gate.write_text("go\n")
        assert started.wait() == 0
    assert contents(records, run) == original(agents)
