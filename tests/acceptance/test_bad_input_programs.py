"""Benchmarks that misbehave, measured through ``anubis run``: each ends in the right final status and cause, said with a
remedy, with all its output kept and nothing of it left running.
"""

import json

from support.agents import is_running
from support.gated import stored
from support.measured import Measured

RATE = """
[[output.metrics]]
name = "rate"
units = "1/s"
pattern = 'rate=(\\S+)'
"""


def test_a_command_that_does_not_exist(anubis):
    Measured(anubis, "no-such-program --fast", python=False).fails(
        "command_not_found", "no-such-program", "PATH"
    )


def test_a_command_longer_than_the_system_takes(anubis):
    Measured(anubis, f"true {'x' * 200_000}", python=False).fails("user_error", "longer")


def test_a_program_that_ignores_sigterm_and_has_children(anubis):
    program = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "if os.fork() == 0:\n    os.setsid()\n    os.fork()\n"
        "os.write(1, b'%d\\n' % os.getpid())\n"
        "time.sleep(600)\n"
    )
    run = Measured(anubis, program, "--set", "measure.timeout_s=0.5").fails(
        "timeout", "0.5 s", "measure.timeout_s"
    )
    pids = [int(word) for word in run.bytes().split()]
    assert len(pids) == 3
    assert not any(is_running(pid) for pid in pids)


def test_a_hundred_megabytes_on_one_line(anubis):
    program = "import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)\nprint()\nprint('rate=7')\n"
    run = Measured(anubis, program, more=RATE).succeeds()
    assert run.row.values["rate"] == (7, "1/s")
    assert (run.folder / "stdout").stat().st_size == 100_000_008
    logged = anubis("logs", text=False).stdout
    assert len(logged) == 100_000_008
    assert logged.endswith(b"x\nrate=7\n")


def test_binary_output(anubis):
    program = "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 1000 + b'\\nrate=3\\n\\xff\\xfe')\nsys.exit(9)\n"
    run = Measured(anubis, program, more=RATE).fails("user_error", "exit code 9")
    assert run.bytes() == bytes(range(256)) * 1000 + b"\nrate=3\n\xff\xfe"
    assert "\x1b" not in run.ended.stdout, "the last words cannot command the terminal"
    json.loads(anubis("status", "--json").stdout)


def test_a_program_that_closes_its_output_early(anubis):
    run = Measured(anubis, "import os\nprint('rate=1', flush=True)\nos.close(1)\nos.close(2)\n", more=RATE)
    assert run.succeeds().row.values["rate"] == (1, "1/s")


def test_an_exit_with_137_is_no_want_of_memory(anubis):
    Measured(anubis, "sh -c 'exit 137'", python=False).fails("user_error", "137")


def test_a_daemon_left_behind_is_ended_and_told(anubis):
    program = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        os.write(1, b'%d\\n' % os.getpid())\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
    )
    run = Measured(anubis, program).succeeds()
    assert not is_running(int(run.bytes()))
    (execution,) = json.loads(run.bytes("exit.json"))["executions"]
    assert [left["pid"] for left in execution["leftovers"]] == [int(run.bytes())]


def test_a_program_that_fills_the_disk_it_writes_to(anubis):
    program = "open('/dev/full', 'w').write('x' * 100_000)\n"
    Measured(anubis, program).fails("disk_full", "No space left")


CATASTROPHIC = """
[[output.metrics]]
name = "evil"
units = "1"
pattern = '(x+x+)+y'
required = false
"""


def test_a_catastrophic_pattern_hurts_only_itself(anubis):
    """Its own extraction is cut; a run beside it, and its own other metric, notice nothing."""
    (anubis.folder / "evil.sh").write_text(
        "for i in 1 2 3 4 5; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\necho rate=5\n"
    )
    evil = anubis.write("evil.toml", "sh evil.sh", more=RATE + CATASTROPHIC)
    good = anubis.write("good.toml", "echo rate=6", more=RATE)
    slots = {**anubis.environment(), "ANUBIS_PROCESS_SLOTS": "2"}
    anubis.environment = lambda: slots
    ended = anubis("run", evil, good)
    assert ended.returncode == 0, ended.stdout
    rates = {row.name: row.values["rate"][0] for row in stored(anubis.home)}
    assert rates == {"evil": 5, "good": 6}


def test_a_catastrophic_pattern_of_a_required_metric_says_that_it_is_too_slow(anubis):
    more = CATASTROPHIC.replace("required = false", "")
    program = "for _ in range(40): print('x' * 40)\n"
    Measured(anubis, program, more=more).fails("metric_missing", "too long", "(x+x+)+y")
