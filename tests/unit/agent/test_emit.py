"""The client library in separate processes: each process has one mode."""

import json
import os
import subprocess
import sys

import pytest

from anubis.agent import emit as module
from anubis.record.streams import enlarge
from support.agents import SRC, interpreter

START = f"import sys; sys.path.insert(0, {str(SRC)!r})\n"


def run(code, mode=None, fifo=None, version="this", **environment):
    env = {name: text for name, text in os.environ.items() if not name.startswith(("BENCHMARK_AI", "ANUBIS"))}
    env |= {
        "BENCHMARK_AI_FIFO_MAX_WAIT_TIME": "0",
        "BENCHMARK_AI_FIFO_WAIT_TIME_STEP": "0.001",
        **environment,
    }
    env |= {"BENCHMARK_AI": mode} if mode else {}
    env |= {"BENCHMARK_AI_FIFO_FILEPATH": str(fifo)} if fifo else {}
    words = [interpreter(version), "-c", START + code]
    return subprocess.run(words, env=env, capture_output=True, check=False, text=True)


@pytest.fixture
def fifo(tmp_path):
    """A FIFO that is read: the path, and the end from which the test reads."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    enlarge(reading)
    yield path, reading
    os.close(reading)


@pytest.mark.parametrize("version", ["3.8", "3.13", "this"])
@pytest.mark.parametrize("mode", [None, "stdout", "StdOut"])
def test_stdout_is_the_default(mode, version):
    done = run("from benchmarkai import emit; emit({'loss': 0.5, 'n': 3})", mode, version=version)
    assert (done.stdout, done.stderr) == ('{"loss": 0.5, "n": 3}\n', "")


def test_it_is_one_function_under_two_names():
    code = "import benchmarkai; from anubis.agent import emit; assert benchmarkai.emit is emit.emit"
    assert run(code).returncode == 0


def test_another_mode_fails_the_import_of_the_old_name():
    assert "ValueError" in run("import benchmarkai", "kafka").stderr
    done = run("from anubis.agent.emit import emit; print('imported'); emit({'a': 1})", "kafka")
    assert done.stdout == "imported\n"
    assert "must be stdout or fifo" in done.stderr


@pytest.mark.parametrize("metrics", [[1, 2], "string", None, {"set"}, 1, 1.5])
def test_metrics_must_be_a_mapping(metrics):
    for function in (module.emit, module.emit_many):
        with pytest.raises(TypeError, match="mapping"):
            function(metrics)


def test_metrics_must_not_be_empty():
    for function in (module.emit, module.emit_many):
        with pytest.raises(ValueError, match="empty"):
            function({})


@pytest.mark.parametrize(
    "columns",
    [
        {"metrics": {"a": [1], "b": [1, 2]}},
        {"metrics": {"a": [1]}, "steps": []},
        {"metrics": {"a": [1]}, "times_s": [1, 2]},
    ],
)
def test_columns_must_have_one_length(columns):
    with pytest.raises(ValueError, match="lengths"):
        module.emit_many(**columns)


def test_an_unknown_reader_gets_the_plain_line(fifo):
    path, reading = fifo
    assert run("from benchmarkai import emit; emit({'loss': 0.5})", "fifo", path).stderr == ""
    assert os.read(reading, 4096) == b'{"loss": 0.5}\n'


def test_under_an_agent_the_line_tells_the_time(fifo):
    path, reading = fifo
    code = "import time; a = time.time_ns()\nfrom benchmarkai import emit; emit({'loss': 0.5}); print(a, time.time_ns())"
    done = run(code, "fifo", path, ANUBIS_RECORD="/record")
    before, after = map(int, done.stdout.split())
    line = json.loads(os.read(reading, 4096))
    assert before <= line.pop("t") <= after
    assert line == {"anubis": 1, "m": {"loss": 0.5}}


def test_step_units_and_labels(fifo):
    path, reading = fifo
    code = "from benchmarkai import emit; emit({'loss': 1}, step=3, units={'loss': 'nats'}, labels={'rank': '0'})"
    run(code, "fifo", path)
    line = json.loads(os.read(reading, 4096))
    assert {key: line[key] for key in "msul"} == {
        "m": {"loss": 1},
        "s": 3,
        "u": {"loss": "nats"},
        "l": {"rank": "0"},
    }


def test_numbers_of_other_libraries(fifo):
    path, reading = fifo
    code = "import numpy as np; from benchmarkai import emit, emit_many\n"
    code += "emit({'a': np.float32(0.5)}); emit_many({'a': np.arange(2.0)}, steps=np.arange(2))"
    assert run(code, "fifo", path).stderr == ""
    plain, batch = map(json.loads, os.read(reading, 4096).splitlines())
    assert plain == {"a": 0.5}
    assert (batch["m"], batch["s"]) == ({"a": [0.0, 1.0]}, [0, 1])


def test_a_value_of_no_use_is_a_type_error():
    done = run("from benchmarkai import emit; emit({'a': object()})")
    assert "TypeError" in done.stderr


@pytest.mark.parametrize("columns", [1, 3])
def test_batches_are_cut_into_lines_that_a_pipe_takes_whole(fifo, columns):
    path, reading = fifo
    code = "import random; from benchmarkai import emit_many\n"
    code += f"v = [random.random() * 10 ** (i % 300) for i in range(800)]; m = {{f'm{{k}}': v for k in range({columns})}}\n"
    code += "emit_many(m, steps=range(800), times_s=[1e9 + i for i in range(800)])\nprint(v)"
    done = run(code, "fifo", path)
    lines = os.read(reading, 1 << 20).splitlines(keepends=True)
    assert max(map(len, lines)) <= 4096
    rows = [
        row
        for line in map(json.loads, lines)
        for row in zip(line["m"]["m0"], line["s"], line["t"], strict=True)
    ]
    assert [row[0] for row in rows] == json.loads(done.stdout)
    assert [row[1] for row in rows] == list(range(800))
    assert rows[5][2] == (10**9 + 5) * 10**9


def test_without_a_fifo_it_says_so_in_time(tmp_path):
    done = run("from benchmarkai import emit; emit({'a': 1})", "fifo", tmp_path / "none")
    assert "FifoNotCreatedInTimeError" in done.stderr


def test_it_waits_for_a_fifo_that_comes(tmp_path):
    path = tmp_path / "fifo"
    code = "import os, time; from anubis.agent import emit as m\n"
    code += f"m.time.sleep = lambda s: os.path.exists({str(path)!r}) or (os.mkfifo({str(path)!r}), os.open({str(path)!r}, os.O_RDWR))\n"
    code += "m.emit({'a': 1}); print('sent')"
    assert run(code, "fifo", path, BENCHMARK_AI_FIFO_MAX_WAIT_TIME="5").stdout == "sent\n"


def test_a_reader_that_went_away_costs_samples_not_time(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    code = f"""
import os
from anubis.agent import emit as m
m.PATIENCE_S = 0.01
reading = os.open({str(path)!r}, os.O_RDONLY | os.O_NONBLOCK)
m.emit({{'a': 1}})
os.close(reading)
for i in range(5): m.emit({{'a': i}})
reading = os.open({str(path)!r}, os.O_RDONLY | os.O_NONBLOCK)
m.emit({{'a': 9}})
print(os.read(reading, 4096).decode())
"""
    done = run(code, "fifo", path)
    assert done.stdout.split("\n") == ['{"a": 9}', '{"anubis":1,"dropped":5}', "", ""]
    assert done.stderr.count("no agent reads") == 1


def test_a_full_pipe_costs_samples_and_leaves_whole_lines(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    code = f"""
import json, os
from anubis.agent import emit as m
m.PATIENCE_S = 0.01
reading = os.open({str(path)!r}, os.O_RDWR | os.O_NONBLOCK)
for i in range(3): m.emit({{'a': 'x' * 50_000, 'i': i}})
data = b''
while True:
    try: data += os.read(reading, 1 << 20)
    except BlockingIOError: break
m.emit({{'i': 9}})
data += os.read(reading, 4096)
lines = []
for line in data.splitlines():
    try: lines.append(json.loads(line))
    except ValueError: lines.append('torn')
print([line if line == 'torn' else line.get('i', line.get('dropped')) for line in lines])
"""
    done = run(code, "fifo", path)
    assert done.stdout == "[0, 'torn', 9, 2]\n", done.stderr


def test_threads_and_forked_processes_emit_whole_lines(fifo):
    path, reading = fifo
    os.set_blocking(reading, True)
    code = """
import os, threading
from benchmarkai import emit
emit({'who': -1, 'i': 0})
def some(who):
    for i in range(300): emit({'who': who, 'i': i}, step=i)
threads = [threading.Thread(target=some, args=(k,)) for k in range(3)]
for t in threads: t.start()
if os.fork() == 0:
    some(7)
    os._exit(0)
for t in threads: t.join()
os.wait()
emit({'who': -2, 'i': 0})
"""
    env = {**os.environ, "BENCHMARK_AI": "fifo", "BENCHMARK_AI_FIFO_FILEPATH": str(path)}
    writer = subprocess.Popen([sys.executable, "-W", "ignore", "-c", START + code], env=env)
    data = b""
    while b'"who": -2' not in data and b'"who":-2' not in data:
        data += os.read(reading, 1 << 16)
    assert writer.wait() == 0
    lines = [json.loads(line) for line in data.splitlines()]
    rows = [line.get("m", line) for line in lines]
    for who in (0, 1, 2, 7):
        assert [row["i"] for row in rows if row["who"] == who] == list(range(300))


def test_a_signal_handler_may_emit(fifo):
    path, reading = fifo
    code = """
import os, signal
from anubis.agent import emit as m
m.emit({'a': 1})
signal.signal(signal.SIGUSR1, lambda *_: m.emit({'b': 2}))
write = os.write
def interrupted(file, data):
    os.write = m.os.write = write
    os.kill(os.getpid(), signal.SIGUSR1)
    return write(file, data)
m.os.write = interrupted
m.emit({'a': 3})
"""
    assert run(code, "fifo", path).returncode == 0
    assert os.read(reading, 4096) == b'{"a": 1}\n{"b": 2}\n{"a": 3}\n'
