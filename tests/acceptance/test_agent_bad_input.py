"""Programs that misbehave: each ends in a complete record with one named cause."""

import os
import resource
import signal

import pytest

from anubis.agent import process_tree
from anubis.model.cause import Cause
from anubis.record import liveness, samples
from support.agents import Agents, is_running, python
from support.processes import until


@pytest.fixture
def agents(tmp_path):
    return Agents(tmp_path)


@pytest.fixture
def told(tmp_path):
    """A FIFO through which a benchmark tells the test something: reading waits until it does."""
    path = tmp_path / "told"
    os.mkfifo(path)
    return path


def test_a_command_that_does_not_exist(agents):
    facts = agents.measure(command=["no-such-program", "--epochs", "3"])
    assert (facts["cause"], facts["code"]) == (Cause.COMMAND_NOT_FOUND, 127)
    assert "no-such-program" in facts["reason"]
    assert "PATH" in facts["reason"]


def test_a_file_that_is_not_executable(agents, tmp_path):
    (tmp_path / "train.sh").write_text("echo hello\n")
    facts = agents.measure(command=[str(tmp_path / "train.sh")])
    assert facts["cause"] == Cause.COMMAND_NOT_FOUND
    assert "not executable" in facts["reason"]


def test_a_script_whose_interpreter_is_missing(agents, tmp_path):
    script = tmp_path / "train"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    facts = agents.measure("--cwd", tmp_path, command=["./train"])
    assert facts["cause"] == Cause.COMMAND_NOT_FOUND
    assert "interpreter" in facts["reason"]


def test_a_working_folder_that_does_not_exist(agents):
    facts = agents.measure("--cwd", "/no/such/folder", command=["true"])
    assert facts["cause"] == Cause.COMMAND_NOT_FOUND
    assert "/no/such/folder" in facts["reason"]


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()  # out of the benchmark's session and group
    if os.fork() == 0:
        os.setsid()
os.write(1, b"%d\\n" % os.getpid())  # in one piece, whatever PYTHONUNBUFFERED says
time.sleep(600)
"""


def test_a_program_that_ignores_sigterm_and_has_children(agents):
    facts = agents.measure("--timeout-s", 3, "--grace-s", 0.2, command=python(STUBBORN))
    pids = [int(word) for word in agents.bytes("stdout").split()]
    assert (facts["cause"], facts["signal"]) == (Cause.TIMEOUT, signal.SIGKILL)
    assert len(pids) == 3
    assert [pid for pid in pids if is_running(pid)] == []


def test_a_hundred_megabytes_on_one_line(agents):
    code = "import sys; w = sys.stdout.write; w('loss=1 ' * 15_000_000); w('\\nloss=2\\n')"
    facts = agents.measure(command=python(code), patterns={"loss": r"loss=(\d+)"})
    assert facts["cause"] is None
    assert facts["streams"]["stdout"] == {"bytes": 105_000_008, "lost_bytes": 0}
    found = samples.load(agents.files)["loss"].values
    assert found[-1] == 2
    assert len(found) < 16_384  # of the endless line only the beginning was matched
    assert facts["agent"]["max_rss_bytes"] < 40_000_000


def test_binary_output(agents):
    code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4000 + b'\\nloss=3\\xff\\n')"
    facts = agents.measure(command=python(code), patterns={"loss": r"^loss=(\d)"})
    assert facts["cause"] is None
    assert agents.bytes("stdout") == bytes(range(256)) * 4000 + b"\nloss=3\xff\n"
    assert list(samples.load(agents.files)["loss"].values) == [3]


def test_a_program_that_closes_its_output_early(agents):
    facts = agents.measure(command=["sh", "-c", "echo first; exec >&- 2>&-; exit 3"])
    assert (facts["cause"], facts["code"]) == (Cause.USER_ERROR, 3)
    assert agents.bytes("stdout") == b"first\n"


def test_a_full_disk_under_the_record(agents):
    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    code = "import sys\nfor i in range(300_000): print('%09d' % i)\nsys.exit(0)"
    facts = agents.measure(command=python(code), preexec_fn=limited)
    assert (facts["cause"], facts["code"]) == (Cause.DISK_FULL, 0)
    assert facts["streams"]["stdout"] == {"bytes": 1_000_000, "lost_bytes": 2_000_000}
    assert agents.bytes("stdout").startswith(b"000000000\n000000001\n")


def test_a_program_that_finds_its_own_disk_full(agents):
    facts = agents.measure(command=python("open('/dev/full', 'w').write('x' * 100_000)"))
    assert (facts["cause"], facts["code"]) == (Cause.DISK_FULL, 1)


def test_an_exit_with_137_is_no_memory_shortage(agents):
    facts = agents.measure(command=["sh", "-c", "exit 137"])
    assert (facts["cause"], facts["code"], facts["signal"]) == (Cause.USER_ERROR, 137, None)


def test_a_program_that_kills_itself_is_no_memory_shortage(agents):
    facts = agents.measure(command=python("import os; os.kill(os.getpid(), 9)"))
    assert (facts["cause"], facts["code"], facts["signal"]) == (Cause.USER_ERROR, 137, 9)


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        time.sleep(600)
    os._exit(0)
os.wait()
"""


def test_a_daemon_left_behind(agents):
    facts = agents.measure("--repeats", 2, "--grace-s", 5, command=python(DAEMON))
    pids = [int(word) for word in agents.bytes("stdout").split()]
    assert facts["cause"] is None
    assert [[left["pid"] for left in one["leftovers"]] for one in facts["executions"]] == [
        [pid] for pid in pids
    ]
    assert "time.sleep" in facts["executions"][0]["leftovers"][0]["command"]
    assert [pid for pid in pids if is_running(pid)] == []


def test_a_late_child_that_ends_by_itself_is_left_alone(agents):
    facts = agents.measure(command=["sh", "-c", "(sleep 0.05; echo done) & exit 0"])
    assert agents.bytes("stdout") == b"done\n"
    assert facts["executions"][0]["leftovers"] == []


def test_a_catastrophic_pattern_costs_only_itself(agents):
    code = "for i in range(40): print('x' * 5 + 'a' * 40 + '!', 'loss=%d' % i)"
    patterns = {"evil": r"(a+)+$", "loss": r"loss=(\d+)"}
    facts = agents.measure(command=python(code), patterns=patterns)
    seen = agents.json("metrics.json")["metrics"]
    assert facts["cause"] is None
    assert seen["loss"]["count"] == 40
    assert seen["evil"]["switched_off"]
    assert seen["evil"]["slow_lines"] == 20


RUNS_UNTIL_TOLD = """
import os, sys
print('loss=1', flush=True)
while os.path.getsize(os.environ['ANUBIS_RECORD'] + '/stdout') < 7: pass  # until it is in the record
open(sys.argv[1], 'w').write('runs')
sys.stdin = open(sys.argv[1])
sys.stdin.read(1)
"""


def test_a_killed_agent_leaves_a_readable_record(agents, told):
    agents.record.mkdir()
    (agents.record / "patterns.json").write_text('{"loss": {"pattern": "loss=(\\\\d)"}}')
    agent = agents.start(command=python(RUNS_UNTIL_TOLD, told))
    assert told.read_text() == "runs"
    assert liveness.state(str(agents.record)) == liveness.ALIVE
    until(lambda: agents.bytes("stdout") == b"loss=1\n", "the line is in the record")
    agent.kill()
    agent.wait()
    process_tree.end_orphans(str(agents.record))
    assert liveness.state(str(agents.record)) == liveness.DEAD
    assert not (agents.record / "exit.json").exists()
    assert agents.json("facts.json")["fingerprint"]
    metrics = agents.extract()
    assert (metrics["complete"], metrics["metrics"]["loss"]["count"]) == (False, 1)
    assert agents.bytes("stdout") == b"loss=1\n"


def test_placing_twice_starts_once(agents, tmp_path):
    command = ["sh", "-c", f"echo started >> {tmp_path}/starts; cat {tmp_path}/gate > /dev/null"]
    os.mkfifo(tmp_path / "gate")
    placed = [agents.start(command=command) for _ in range(4)]
    (tmp_path / "gate").write_text("go")
    assert [agent.wait() for agent in placed] == [0] * 4
    assert agents.start(command=command).wait() == 0
    assert (tmp_path / "starts").read_text() == "started\n"


def test_cancelling(agents, told):
    agent = agents.start("--repeats", 3, "--grace-s", 5, command=python(RUNS_UNTIL_TOLD, told))
    assert told.read_text() == "runs"
    assert liveness.cancel(str(agents.record))
    agent.wait()
    facts = agents.json("exit.json")
    assert (facts["cause"], facts["signal"], len(facts["executions"])) == (Cause.CANCELLED, signal.SIGTERM, 1)
    assert not liveness.cancel(str(agents.record))


def test_the_terminals_signals_do_not_end_it(agents, told):
    code = RUNS_UNTIL_TOLD + "print('survived')"
    agent = agents.start(command=python(code, told))
    assert told.read_text() == "runs"
    agent.send_signal(signal.SIGHUP)
    agent.send_signal(signal.SIGINT)
    told.write_text("go")
    assert agent.wait() == 0
    assert agents.bytes("stdout") == b"loss=1\nsurvived\n"


def ignore_signals():
    """Like nohup, and like a shell that starts a command in the background."""
    for number in (
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGPIPE,
        signal.SIGUSR1,
        signal.SIGTSTP,
    ):
        signal.signal(number, signal.SIG_IGN)


@pytest.mark.parametrize("preexec_fn", [None, ignore_signals], ids=["usual", "ignored by the starter"])
def test_the_benchmark_ignores_no_signal_that_the_agent_or_its_starter_ignores(agents, preexec_fn):
    agents.measure(command=["sh", "-c", "grep SigIgn /proc/self/status"], preexec_fn=preexec_fn)
    of_the_c_library = 0b11 << 31  # 32 and 33: a process started by posix_spawn(3) may ignore them
    assert int(agents.bytes("stdout").split()[1], 16) & ~of_the_c_library == 0
