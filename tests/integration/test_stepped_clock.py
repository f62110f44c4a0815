"""The clock of a marathon is that of commands, agents and benchmarks, and can be stepped while they run."""

import json
import time

import pytest

from chaos.disturbances import Clock
from support.command import Command

pytestmark = pytest.mark.integration
HOUR_S = 3600.0


@pytest.fixture
def clock(tmp_path):
    clock = Clock(tmp_path / "clock")
    assert clock.can_step, "libfaketime is installed"
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
    """The benchmark steps the clock, so that its agent starts before the step and ends after it."""
    before_s = time.time()
    step = f"echo {shift_s:+g} > part; mv part clock"
    (anubis.folder / "step.sh").write_text(f"date +before=%s; {step}; date +after=%s")
    ended = anubis("run", anubis.write("step.toml", "sh step.sh"), "--quiet")
    assert ended.returncode == 0, ended.stderr
    seen = dict(line.split("=") for line in anubis("logs", "@last").stdout.split())
    assert shift_s - 5 < int(seen["after"]) - int(seen["before"]) < shift_s + 60
    [path] = anubis.home.glob("records/*/a1/benchmark/0/exit.json")
    exit_json = json.loads(path.read_bytes())
    assert before_s <= exit_json["started_s"] < before_s + 60
    assert 0 <= exit_json["ended_s"] - exit_json["started_s"] < 60, "the agent's clock does not jump"
