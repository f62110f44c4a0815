"""Agents that ship their records to a receiver, over a network and with processes that fail."""

import ctypes
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


def shippers():
    """Process ids of the shippers that belong to agents of this test."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name, stat = (process / "comm").read_text(), (process / "stat").read_text()
            parent = int(stat.rpartition(")")[2].split()[1])
            ancestor = int(Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if name == "anubis-ship\n" and ancestor == os.getpid() and is_running(int(process.name)):
            found.append(int(process.name))
    return found


@pytest.fixture
def token(tmp_path):
    """A new private file with the token."""

    def write(text=TOKEN):
        path = tmp_path / "token"
        path.write_text(text + "\n")
        path.chmod(0o600)
        return "--ship-token", path

    return write


def start_shipper(agents, url, *options):
    words = [*agents.words("ship"), "--ship", url, *map(str, options)]
    return subprocess.Popen(words, stderr=subprocess.PIPE)


def has_sent(shipper, requests, count):
    return shipper.poll() is not None or len(requests) > count


def test_an_agent_ends_when_the_receiver_has_all_of_its_record(agents, run, records, token):
    with receiving(records, run) as receiver:
        command = ["sh", "-c", "env; echo error >&2; exit 3"]
        started = agents.start("--ship", receiver.url(), *token(), command=command)
        assert started.wait() == 3
    assert contents(records, run) == original(agents)
    assert {"exit.json", "facts.json", "stdout", "stderr", "lines", "events.jsonl"} <= contents(
        records, run
    ).keys()
    assert TOKEN.encode() not in b"".join(contents(records, run).values()), (
        "the benchmark must not see the token"
    )
    assert shippers() == []


def test_a_token_may_come_from_a_descriptor(agents, run, records):
    reading, writing = os.pipe()
    os.write(writing, TOKEN.encode())
    os.close(writing)
    with receiving(records, run) as receiver:
        options = ("--ship", receiver.url(), "--ship-token", f"/dev/fd/{reading}")
        assert agents.start(*options, command=["true"], pass_fds=[reading]).wait() == 0
    os.close(reading)
    assert contents(records, run) == original(agents)


SNOOP = """
import os, pathlib
found = [str(path) for path in pathlib.Path(os.environ["FOLDER"]).iterdir() if path.name == "token"]
for process in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("environ", "cmdline"):
        try:
            if b"TOKEN-" + b"1234" in (process / name).read_bytes():
                found.append(str(process / name))
        except OSError:
            pass
agent = os.getppid()
try:
    found += [os.readlink(f"/proc/{agent}/fd/{fd}") for fd in os.listdir(f"/proc/{agent}/fd")]
    found.append("memory" if b"TOKEN-" + b"1234" in open(f"/proc/{agent}/mem", "rb").read(1) else "opened")
except PermissionError as error:
    print("refused")
print(found)
"""


def without_tracing():
    """Before exec: give up the right to inspect any process, which only root has."""
    if os.geteuid() == 0:
        drop_bounding, sys_ptrace = 24, 19  # linux/prctl.h, linux/capability.h
        assert ctypes.CDLL(None).prctl(drop_bounding, sys_ptrace, 0, 0, 0) == 0


def test_a_benchmark_of_the_same_user_cannot_read_the_token(agents, run, records, token, tmp_path):
    with receiving(records, run) as receiver:
        options = ("--ship", receiver.url(), *token("TOKEN-1234"))
        command, env = python(SNOOP), {"FOLDER": str(tmp_path)}
        started = agents.start(
            *options, command=command, env=env, stderr=subprocess.DEVNULL, preexec_fn=without_tracing
        )
        assert started.wait() == 0
    assert agents.bytes("stdout") == b"refused\n[]\n"


def test_the_file_of_the_token_is_deleted_before_the_benchmark_starts(agents, run, records, token):
    with receiving(records, run) as receiver:
        options = ("--ship", receiver.url(), *token())
        path = options[-1]
        assert agents.start(*options, command=["test", "!", "-e", str(path)]).wait() == 0
    assert contents(records, run) == original(agents)


def test_a_record_arrives_while_it_is_written(agents, run, records, token):
    with receiving(records, run) as receiver:
        command = ["sh", "-c", "echo first; read line < go; echo last"]
        os.mkfifo(agents.record.parent / "go")
        options = ("--ship", receiver.url(), *token(), "--cwd", agents.record.parent)
        started = agents.start(*options, command=command)
        until(lambda: contents(records, run).get("stdout") == b"first\n", "the first line has arrived")
        assert "exit.json" not in contents(records, run)
        (agents.record.parent / "go").write_text("go\n")
        assert started.wait() == 0
    assert contents(records, run) == original(agents)


def test_a_shipper_that_is_killed_is_replaced(agents, run, records, token):
    with receiving(records, run) as receiver:
        receiver.stop()
        started = agents.start("--ship", receiver.url(), *token(), command=python(LINES.format(count=3000)))
        for _ in range(3):
            (pid,) = until(shippers, "a shipper runs")
            os.kill(pid, signal.SIGKILL)
            until(lambda pid=pid: not is_running(pid), "it is gone")
        receiver.start()
        assert started.wait() == 0
    assert contents(records, run) == original(agents)


def test_every_failure_of_network_and_receiver_ends_in_the_same_bytes(agents, run, records, token):
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
            shipper = start_shipper(agents, receiver.url(), *token())
            until(partial(has_sent, shipper, requests, seen + 2), "it has sent something")
            if kills < 8:
                shipper.kill()
                kills += 1
            shipper.stderr.close()
            if shipper.wait() == 0:
                break
    assert contents(records, run) == original(agents)


def test_a_receiver_that_is_stopped_and_started_again_gets_the_rest(agents, run, records, token):
    agents.measure(command=python(LINES.format(count=10_000)))
    stops = []

    def fault(request):
        if "stdout" in request.target and len(stops) < 3:
            stops.append(request.target)
            return "drop"
        return None

    with receiving(records, run, fault) as receiver:
        shipper = start_shipper(agents, receiver.url(), *token())
        for number in range(1, 4):
            until(lambda number=number: len(stops) >= number, "a part has arrived")
            receiver.stop()
            receiver.start()
        shipper.stderr.close()
        assert shipper.wait() == 0
    assert contents(records, run) == original(agents)


def test_a_full_disk_of_the_receiver_is_waited_for(agents, run, records, monkeypatch, token):
    agents.measure(command=python(LINES.format(count=2000)))
    real, refused = os.pwrite, []

    def pwrite(opened, data, offset):
        if len(refused) < 4 and offset >= 100_000:
            refused.append(offset)
            raise OSError(28, "No space left on device")
        return real(opened, data[:65_536], offset)

    monkeypatch.setattr("anubis.record.appending.os.pwrite", pwrite)
    with receiving(records, run) as receiver:
        shipper = start_shipper(agents, receiver.url(), *token())
        shipper.stderr.close()
        assert shipper.wait() == 0
    assert len(refused) == 4
    assert contents(records, run) == original(agents)


def test_a_wrong_token_ends_the_shipper_and_not_the_run(agents, run, records, token):
    with receiving(records, run) as receiver:
        options = ("--ship", receiver.url(), *token("wrong"))
        started = agents.start(*options, command=["true"], stderr=subprocess.PIPE)
        _, errors = started.communicate()
    assert started.returncode == 0
    assert b"not valid for this run" in errors
    assert b"wrong" not in errors
    assert agents.json("exit.json")["code"] == 0
    assert records.attempts(run.id) == []


def test_a_record_shipped_twice_is_the_same_record(agents, run, records, token):
    agents.measure(command=["echo", "once"])
    with receiving(records, run) as receiver:
        for _ in range(2):
            shipper = start_shipper(agents, receiver.url(), *token())
            shipper.stderr.close()
            assert shipper.wait() == 0
    assert contents(records, run) == original(agents)


def test_a_stopped_shipper_does_not_keep_its_agent(agents, run, records, token, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with receiving(records, run) as receiver:
        command = ["sh", "-c", f"echo line; read line < {gate}"]
        started = agents.start("--ship", receiver.url(), *token(), command=command)
        (shipper,) = until(shippers, "the shipper runs")
        os.kill(shipper, signal.SIGSTOP)
        gate.write_text("go\n")
        assert started.wait() == 0
    assert contents(records, run) == original(agents)
