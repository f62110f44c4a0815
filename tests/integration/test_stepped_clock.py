"""The clock of a marathon is that of commands, agents and benchmarks, and can be stepped while they run."""

import json
import os
import time

import pytest

from chaos.disturbances import Clock
from support.command import Command

pytestmark = pytest.mark.integration
HOUR_S = 3600


@pytest.fixture
def clock(tmp_path):
    clock = Clock(tmp_path)
    assert clock.can_step, "there is a C compiler"
    return clock


@pytest.fixture
def anubis(tmp_path, clock):
    command = Command(tmp_path / "home", tmp_path)
    known = command.environment()
    command.environment = lambda: {**known, **clock.environment}
    yield command
    command.close()


@pytest.mark.parametrize("shift_s", [HOUR_S, -HOUR_S])
def test_a_run_is_measured_while_the_clock_is_stepped(anubis, clock, shift_s):
    os.mkfifo(anubis.folder / "gate")
    (anubis.folder / "dates.sh").write_text("date +before=%s; read line < gate; sleep 0.01; date +after=%s")
    process = anubis.start("run", anubis.write("dates.toml", "sh dates.sh"), "--quiet")
    with (anubis.folder / "gate").open("w") as gate:  # the benchmark has opened it, too
        before_s = time.time()
        clock.set(shift_s)
        gate.write("go\n")
    out, errors = process.communicate()
    assert process.returncode == 0, (out, errors)
    seen = dict(line.split("=") for line in anubis("logs", "@last").stdout.split())
    assert shift_s - 60 < int(seen["after"]) - int(seen["before"]) < shift_s + 60
    [path] = anubis.home.glob("records/*/a1/benchmark/0/exit.json")
    exit_json = json.loads(path.read_bytes())
    assert abs(exit_json["started_s"] - before_s) < 60
    assert 0 <= exit_json["ended_s"] - exit_json["started_s"] < 60, "the agent's clock does not jump"


def test_waits_are_those_of_the_machine(anubis, clock):
    clock.set(-HOUR_S)
    code = "import threading, time; time.sleep(0.01); threading.Event().wait(0.01); print(time.time())"
    ended = anubis("-I", "-S", "-c", code, program="python")
    assert ended.returncode == 0, ended.stderr
    assert abs(float(ended.stdout) - time.time() + HOUR_S) < 60
