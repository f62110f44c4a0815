"""What the agent writes down about programs that behave, under the oldest and the newest Python it promises."""

import json
import os
import subprocess

import pytest

from anubis.agent import build_zip
from anubis.record import samples
from anubis.record.files import FolderFiles
from anubis.record.telemetry import Telemetry
from anubis.record.time_index import Arrivals
from support.agents import Agents, interpreter, python


@pytest.fixture(params=["this", "3.8", "3.13"])
def agents(request, tmp_path):
    agents = Agents(tmp_path)
    agents.python = interpreter(request.param)
    return agents


def test_warmups_and_repeats(agents):
    code = "import os; print('loss=%s' % os.environ['ANUBIS_REPEAT'])"
    facts = agents.measure(
        "--warmups", 2, "--repeats", 3, command=python(code), patterns={"loss": r"loss=(\S+)"}
    )
    executions = facts["executions"]
    assert [one["repeat"] for one in executions] == [-2, -1, 0, 1, 2]
    assert [one["phase"] for one in executions] == ["warmup"] * 2 + ["measure"] * 3
    assert [one["offsets"]["stdout"] for one in executions] == [[0, 8], [8, 16], [16, 23], [23, 30], [30, 37]]
    found = samples.load(agents.files)["loss"]
    assert list(found.values) == list(found.repeats) == [-2, -1, 0, 1, 2]
    assert [sample.phase for sample in samples.iterate(agents.files)] == ["warmup"] * 2 + ["measure"] * 3
    for one in executions:
        assert one["started_s"] < one["ended_s"]
        assert one["wall_s"] == pytest.approx(one["ended_s"] - one["started_s"], abs=1e-5)
        assert one["user_s"] + one["system_s"] > 0


def test_it_stops_at_the_first_failure(agents):
    facts = agents.measure("--repeats", 3, command=["sh", "-c", 'exit "$ANUBIS_REPEAT"'])
    assert [one["code"] for one in facts["executions"]] == [0, 1]
    assert (facts["cause"], facts["code"]) == ("user_error", 1)
    assert facts["reason"] == "The benchmark ended with exit code 1."


def test_the_environment_of_a_benchmark(agents):
    names = (
        "BENCHMARK_AI BENCHMARK_AI_FIFO_FILEPATH BENCHMARK_AI_FIFO_MAX_WAIT_TIME ANUBIS_RUN_ID ANUBIS_RANK"
    )
    names += " ANUBIS_WORLD_SIZE ANUBIS_REPEAT ANUBIS_SEED BAI_SCRIPTS_PATH"
    code = f"import os, json; print(json.dumps({{n: os.environ.get(n) for n in {names.split()}}}))"
    given = {
        "BAI_SCRIPTS_PATH": "/scripts",
        "ANUBIS_RANK": "3",
        "BENCHMARK_AI_FIFO_FILEPATH": "/of/another/agent",
    }
    agents.measure("--run-id", "run-7", "--seed", 11, command=python(code), env=given)
    assert json.loads(agents.bytes("stdout")) == {
        "BENCHMARK_AI": "fifo",
        "BENCHMARK_AI_FIFO_FILEPATH": f"{agents.record}/fifo",
        "BENCHMARK_AI_FIFO_MAX_WAIT_TIME": "60",
        "ANUBIS_RUN_ID": "run-7",
        "ANUBIS_RANK": "3",
        "ANUBIS_WORLD_SIZE": "1",
        "ANUBIS_REPEAT": "0",
        "ANUBIS_SEED": "11",
        "BAI_SCRIPTS_PATH": "/scripts",
    }


def test_writers_of_the_fifo_come_and_go(agents):
    script = 'for i in 1 2 3; do echo "{\\"loss\\": $i}" > "$BENCHMARK_AI_FIFO_FILEPATH"; done'
    agents.measure(command=["sh", "-c", script])
    assert agents.bytes("emit") == b'{"loss": 1}\n{"loss": 2}\n{"loss": 3}\n'
    assert list(samples.load(agents.files)["loss"].values) == [1, 2, 3]


def test_objects_on_stdout_are_what_the_old_library_emitted_there(agents):
    lines = '{"loss": 0.5, "step": 2}', '{"level": "info", "loss": 9}', '{"accuracy": "0.9", "note": "x"}'
    code = f"print({chr(10).join(lines)!r})"
    agents.measure(command=python(code), patterns={"accuracy": None})
    found = samples.load(agents.files)
    assert {name: list(columns.values) for name, columns in found.items()} == {
        "loss": [0.5],
        "step": [2.0],
        "accuracy": [0.9],
    }


def test_a_metric_that_never_appeared_shows_the_closest_lines(agents):
    code = "print('hello'); print('Throughput was 81 images/s'); print('throughput: none'); print('bye')"
    agents.measure(command=python(code), patterns={"throughput": r"Throughput: (\d+) img/s"})
    seen = agents.json("metrics.json")["metrics"]["throughput"]
    assert seen["count"] == 0
    assert set(seen["closest"][:2]) == {"Throughput was 81 images/s", "throughput: none"}
    assert len(seen["closest"]) == 3


def test_what_is_no_number_is_counted_not_kept(agents):
    code = "print('loss=nan loss=inf loss=1e-5 loss=1,000 loss=1_000 loss=-2')"
    agents.measure(command=python(code), patterns={"loss": r"loss=(\S+)"})
    seen = agents.json("metrics.json")["metrics"]["loss"]
    assert list(samples.load(agents.files)["loss"].values) == [1e-5, -2]
    assert (seen["count"], seen["rejected"]) == (2, {"not finite": 2, "not a number": 2})
    assert seen["rejected_example"] == "nan"


def test_a_run_that_lasts_is_watched(agents):
    """The benchmark lasts until three samples of the machine were written, however slow that is."""
    code = (
        "import os, sys\nprint('loss=1', flush=True)\nsizes = set()\n"
        "while len(sizes) < 4:\n"
        "    sizes.add(os.path.getsize(sys.argv[1]) if os.path.exists(sys.argv[1]) else 0)\n"
    )
    telemetry = str(agents.record / "telemetry")
    facts = agents.measure(command=python(code, telemetry), patterns={"loss": r"loss=(\d)"})
    assert (facts["extraction"], facts["sampling"]) == ("complete", "complete")
    watched = Telemetry(agents.files)
    assert len(watched) >= 2
    assert 1 in watched.columns["tree_processes"]
    assert watched.units["tree_memory"] == "B"
    assert facts["executions"][0]["peak_memory_bytes"] > 1_000_000
    assert list(samples.load(agents.files)["loss"].values) == [1]


def test_every_line_has_the_time_at_which_it_arrived(agents):
    facts = agents.measure(command=["sh", "-c", "echo one; echo two >&2; echo three"])
    execution = facts["executions"][0]
    rows = list(Arrivals(agents.files).new())
    times = [time_ns / 1e9 for _, _, time_ns, _ in rows]
    assert times == sorted(times)
    assert execution["started_s"] <= times[0]
    assert times[-1] <= facts["ended_s"]
    ends = {stream: end for stream, end, _, _ in rows}
    assert ends == {"stdout": len(b"one\nthree\n"), "stderr": len(b"two\n")}


def test_nothing_is_lost_at_full_speed(agents):
    code = "import sys\nfor i in range(300_000): sys.stdout.write(f'{i:08d} loss={i % 7}\\n')"
    facts = agents.measure(command=python(code), patterns={"loss": r"loss=(\d)"})
    assert agents.bytes("stdout") == b"".join(b"%08d loss=%d\n" % (i, i % 7) for i in range(300_000))
    found = samples.load(agents.files)["loss"]
    assert list(found.values) == [float(i % 7) for i in range(300_000)]
    assert list(found.times_s) == sorted(found.times_s)
    assert facts["agent"]["max_rss_bytes"] < 40_000_000


def test_facts_of_the_machine(agents):
    agents.measure(command=["true"])
    facts = agents.json("facts.json")
    assert facts["cpu"]["usable"] == len(os.sched_getaffinity(0))
    assert facts["memory"]["total_bytes"] > 1 << 28
    assert set(facts["fingerprint_inputs"]) >= {
        "cpu_model",
        "cpus",
        "memory_class",
        "accelerators",
        "container",
    }
    assert len(facts["fingerprint"]) == 32


@pytest.mark.parametrize("version", ["3.8", "3.13", "this"])
def test_one_file_is_the_whole_agent(tmp_path, version):
    one_file = tmp_path / "anubis-agent.zip"
    build_zip.build(str(one_file))
    record = tmp_path / "record"
    code = (
        "import sys; sys.path.append(sys.argv[1]); from benchmarkai import emit; emit({'loss': 0.5}, step=3)"
    )
    words = [interpreter(version), "-I", "-S", str(one_file), "exec", "--record", str(record), "--"]
    subprocess.run([*words, interpreter(version), "-c", code, str(one_file)], check=True)
    (sample,) = samples.iterate(FolderFiles(str(record)))
    assert (sample.metric, sample.value, sample.step) == ("loss", 0.5, 3)


def test_a_wrong_command_line(tmp_path):
    agents = Agents(tmp_path)
    for options in (["--repeats", "many"], ["--repeats", "0"], ["--colour", "red"], ["--seed"]):
        done = subprocess.run(
            agents.words("exec", *options, command=["true"]), capture_output=True, check=False
        )
        assert done.returncode == 2
        assert options[0] in done.stderr.decode()
    assert not agents.record.exists()


def test_the_working_folder(tmp_path):
    agents = Agents(tmp_path)
    (tmp_path / "work").mkdir()
    script = tmp_path / "work" / "train"
    script.write_text("#!/bin/sh\npwd; echo $0\n")
    script.chmod(0o755)
    for command, path in ((["./train"], None), (["train"], "../nothing:.:/bin:/usr/bin")):
        agents.record = tmp_path / f"record-{command[0].strip('./')}-{bool(path)}"
        agents.measure("--cwd", "work", command=command, cwd=tmp_path, env={"PATH": path} if path else {})
        assert agents.bytes("stdout").splitlines()[0] == os.fsencode(tmp_path / "work")
