"""Engine ``slurm`` on a real Slurm: the contract of engines, and what it promises beyond."""

import contextlib
import json
import os
import shutil
import signal
import sys

import pytest

from anubis.engines.slurm import SlurmEngine, SlurmSettings
from anubis.model.cause import Cause
from anubis.model.descriptor import Measure
from anubis.model.run import Seen
from anubis.record import layout
from anubis.testing import a_run
from anubis.testing.contracts.engine import EngineContract, ReplicasContract, start
from support.engines import record_of, stdout_of
from support.processes import until
from support.slurm import NODES


@pytest.fixture
def an_engine(slurm, tmp_path):
    """Engines of one home folder, as different processes have them; nothing is left in the queue after the test."""

    def engine(**settings):
        folders = {"folder": tmp_path / "slurm", "records": tmp_path / "records"}
        given = {"min_free_bytes": 0, "gather_s": 0.0, **folders, **settings}
        return SlurmEngine(SlurmSettings(**given))

    yield engine
    slurm.call("scancel", "--me", "--partition=main")


@pytest.fixture(scope="module", autouse=True)
def limited(slurm, tmp_path_factory):
    """A run whose time limit is over when the last test needs it, and its engine. Its agent is stopped: it writes no result."""
    folder = tmp_path_factory.mktemp("limited")
    settings = {"partition": "short", "options": (f"--nodelist={NODES[0]}",), "gather_s": 0.0}
    engine = SlurmEngine(
        SlurmSettings(folder=folder / "slurm", records=folder / "records", min_free_bytes=0, **settings)
    )
    placement = start(
        engine, a_run(engine="slurm"), ("sleep", "600"), measure=Measure(timeout_s=Measure().timeout_s)
    )
    seen(engine, placement, Seen.RUNNING)
    os.kill(agent_of(placement), signal.SIGSTOP)
    yield engine, placement
    slurm.call("scancel", "--me")


@pytest.fixture
def engine(an_engine):
    return an_engine()


@pytest.fixture
def ended(engine):
    return lambda placement: seen(engine, placement, Seen.ENDED)


@pytest.fixture
def run():
    return a_run(engine="slurm")


def seen(engine, placement, expected):
    """Waits until the engine sees that; returns what it sees."""

    def look():
        observation = engine.observe([placement])[placement.name]
        assert observation.seen in {expected, Seen.WAITING, Seen.RUNNING}, observation
        return observation if observation.seen is expected else None

    return until(look, f"{placement.name} is {expected}")


class TestSlurmEngine(EngineContract):
    """See anubis.testing.contracts.engine."""


class TestReplicasOnSlurm(ReplicasContract):
    """See anubis.testing.contracts.engine."""

    count = 2  # one for each node


def run_to_end(engine, *command, environment=None, **hardware):
    """What the command printed, with these fields of ``[hardware]``."""
    role = {name: value for name, value in hardware.items() if value is not None}
    placement = start(engine, a_run(engine="slurm"), command, environment=environment or {}, **role)
    assert seen(engine, placement, Seen.ENDED).exit_code == 0
    return stdout_of(placement)


def test_runs_that_are_placed_together_are_one_array(an_engine, slurm):
    engine = an_engine(gather_s=0.2)
    runs = [a_run(engine="slurm") for _ in range(12)]
    placements = [start(engine, run, ("sh", "-c", "echo $SLURM_ARRAY_JOB_ID")) for run in runs]
    other = start(engine, a_run(engine="slurm"), ("true",), cpus=2)
    until(
        lambda: all(each.seen is Seen.ENDED for each in engine.observe([*placements, other]).values()),
        "all have ended",
    )
    assert len({stdout_of(placement) for placement in placements}) == 1
    assert not list((engine._settings.folder).glob("*.*.*")), "their scripts are removed"


def test_an_array_has_at_most_as_many_elements_as_allowed(an_engine):
    engine = an_engine(gather_s=0.2, array=2)
    placements = [
        start(engine, a_run(engine="slurm"), ("sh", "-c", "echo $SLURM_ARRAY_JOB_ID")) for _ in range(3)
    ]
    until(
        lambda: all(each.seen is Seen.ENDED for each in engine.observe(placements).values()), "all have ended"
    )
    assert len({stdout_of(placement) for placement in placements}) == 2


def test_the_end_has_code_cause_reason_and_time_in_the_queue(engine, run):
    observation = seen(engine, start(engine, run, ("sh", "-c", "exit 3")), Seen.ENDED)
    assert (observation.exit_code, observation.cause) == (3, Cause.USER_ERROR)
    assert observation.queued_s >= 0


def test_what_slurm_refuses_ends_with_its_words(an_engine, run):
    for settings, words in (
        ({"partition": "nope"}, "invalid partition specified: nope"),
        ({"account": "nope"}, "Invalid account"),
        ({"options": ("--no-such-option",)}, "no-such-option"),
    ):
        engine = an_engine(**settings)
        placement = start(engine, a_run(engine="slurm"), ("true",))
        observation = seen(engine, placement, Seen.ENDED)
        assert observation.cause is Cause.USER_ERROR
        assert words in observation.reason
        assert engine.observe([placement])[placement.name] == observation


def test_a_label_of_nodes_is_a_constraint(engine, run):
    assert run_to_end(engine, "true", instance_type="fast") == ""
    placement = start(engine, run, ("true",), instance_type="nope")
    assert "feature" in seen(engine, placement, Seen.ENDED).reason.lower()


def test_gpus_cpus_and_memory_are_requested(engine):
    printed = run_to_end(
        engine,
        "sh",
        "-c",
        "echo $CUDA_VISIBLE_DEVICES $SLURM_CPUS_PER_TASK $SLURM_MEM_PER_NODE",
        gpus=1,
        cpus=1.5,
        memory_gb=0.25,
    )
    assert printed == "0 2 256\n"


def test_too_much_memory_ends_with_its_cause(engine, run, slurm):
    if not slurm.limits_memory:
        pytest.skip("needs the right to limit memory")
    eat = "b = bytearray(400 << 20); import time; time.sleep(60)"
    observation = seen(engine, start(engine, run, (sys.executable, "-c", eat), memory_gb=0.1), Seen.ENDED)
    assert observation.cause is Cause.OUT_OF_MEMORY


def test_modules_and_commands_precede_the_benchmark(an_engine, run, tmp_path, monkeypatch):
    monkeypatch.setenv("FROM_SUBMITTER", "it's\n$HOME")
    engine = an_engine(setup="export FROM_SETUP=yes\nPATH=/from/setup:$PATH")
    printed = run_to_end(engine, "sh", "-c", 'echo "$FROM_SUBMITTER" $FROM_SETUP; echo $PATH')
    assert printed.startswith("it's\n$HOME yes\n/from/setup:")
    failing = an_engine(setup="echo no licence; false")
    observation = seen(failing, start(failing, run, ("true",)), Seen.ENDED)
    assert (observation.cause, observation.reason) == (Cause.USER_ERROR, "the set-up lines failed")
    missing = an_engine(modules=("no/such/module",))
    observation = seen(missing, start(missing, a_run(engine="slurm"), ("true",)), Seen.ENDED)
    assert (observation.cause, observation.reason) == (
        Cause.USER_ERROR,
        "module load failed: no/such/module",
    )


def test_secrets_are_in_no_file_after_the_end_and_never_known_to_slurm(engine, run, slurm, tmp_path):
    placement = start(
        engine, run, ("sh", "-c", "echo ${#SECRET}; sleep 60"), environment={"SECRET": "confidential-value"}
    )
    seen(engine, placement, Seen.RUNNING)
    assert (engine._settings.folder / placement.name).stat().st_mode & 0o77 == 0
    number = element_of(engine, placement)
    assert "confidential" not in slurm.call("scontrol", "show", "job", "-dd", number)
    assert "confidential" not in slurm.call("scontrol", "write", "batch_script", number, "-")
    until(lambda: "18" in stdout_of(placement), "the benchmark runs")
    engine.cancel(placement)
    assert seen(engine, placement, Seen.ENDED).cause is Cause.CANCELLED
    left = [file for file in tmp_path.rglob("*") if file.is_file() and b"confidential" in file.read_bytes()]
    assert left == []


def element_of(engine, placement):
    """The id of the element that executes a placement."""
    return engine._spool.entry(placement.name).started


def test_what_the_operator_cancels_is_cancelled(engine, run, slurm):
    placement = start(engine, run, ("sleep", "60"))
    seen(engine, placement, Seen.RUNNING)
    slurm.call("scancel", element_of(engine, placement))
    observation = seen(engine, placement, Seen.ENDED)
    assert (observation.cause, "cancelled in Slurm" in observation.reason) == (Cause.CANCELLED, True)


def test_a_cancelled_run_leaves_the_queue(an_engine, run, slurm):
    engine = an_engine(options=("--hold",))
    placement = start(engine, run, ("true",))
    until(lambda: "Held" in engine.observe([placement])[placement.name].reason, "Slurm holds it")
    engine.cancel(placement)
    assert engine.observe([placement])[placement.name].cause is Cause.CANCELLED
    until(lambda: not slurm.queue(), "the queue is empty")
    assert not (record_of(placement) / layout.STDOUT).exists()


def test_an_agent_that_is_killed_is_lost(engine, run, slurm):
    placement = start(engine, run, ("sleep", "60"))
    seen(engine, placement, Seen.RUNNING)
    os.kill(json.loads((record_of(placement) / layout.ALIVE).read_bytes())["pid"], signal.SIGKILL)
    assert "vanished" in seen(engine, placement, Seen.LOST).reason


def test_a_node_that_fails_loses_its_run(an_engine, run, slurm):
    engine = an_engine(options=(f"--nodelist={NODES[1]}",))
    placement = start(engine, run, ("sleep", "60"))
    seen(engine, placement, Seen.RUNNING)
    node = slurm.call("squeue", "--noheader", "--format=%N", f"--jobs={element_of(engine, placement)}")
    slurm.end(node)
    try:
        slurm.call("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
        observation = seen(engine, placement, Seen.LOST)
    finally:
        slurm.start_node(node)
        slurm.call("scontrol", "update", f"nodename={node}", "state=resume")
        slurm.wait_idle()
    assert "its node failed" in observation.reason
    assert node in observation.reason


def test_a_requeued_run_is_not_executed_twice(an_engine, run, slurm, tmp_path):
    engine = an_engine(options=("--requeue",))
    placement = start(engine, run, ("sh", "-c", f"echo started >> {tmp_path}/starts; sleep 60"))
    seen(engine, placement, Seen.RUNNING)
    until((tmp_path / "starts").exists, "the benchmark runs")
    slurm.call("scontrol", "requeue", element_of(engine, placement))
    observation = seen(engine, placement, Seen.ENDED)
    assert (observation.cause, "requeued" in observation.reason) == (Cause.PREEMPTED, True)
    until(lambda: not slurm.queue(), "the queue is empty")
    assert (tmp_path / "starts").read_text() == "started\n"


def counted(tmp_path, monkeypatch, *programs):
    """The calls of programs of Slurm, as lines of a file that is returned."""
    calls = tmp_path / "calls"
    calls.touch()
    folder = tmp_path / "counted"
    folder.mkdir()
    for program in programs:
        wrapper = folder / program
        wrapper.write_text(f'#!/bin/sh\necho {program} >> {calls}\nexec {shutil.which(program)} "$@"\n')
        wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return calls


def test_another_process_continues_a_submission_that_was_interrupted(
    an_engine, run, slurm, tmp_path, monkeypatch
):
    """It is killed after Slurm has accepted the array, and before its id is stored."""
    first = an_engine()
    placement = start(first, run, ("sh", "-c", f"echo started >> {tmp_path}/starts"))
    monkeypatch.setattr(first._spool, "note_submitted", lambda array: None)
    until(
        lambda: first.observe([placement]) and slurm.queue("--states=all"),
        "it is submitted",
    )
    second = an_engine()
    assert second.placed(run) == placement
    calls = counted(tmp_path, monkeypatch, "sbatch")
    assert seen(an_engine(), placement, Seen.ENDED).exit_code == 0
    assert calls.read_text() == ""
    assert (tmp_path / "starts").read_text() == "started\n"


@pytest.mark.parametrize("accounting", ["with", "without"])
def test_an_array_that_slurm_never_got_is_submitted_again(an_engine, run, tmp_path, monkeypatch, accounting):
    """The process is killed before it calls sbatch."""
    first = an_engine()
    placement = start(first, run, ("sh", "-c", f"echo started >> {tmp_path}/starts"))
    monkeypatch.setattr(first._commands, "submit", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        until(lambda: first.observe([placement]) and None, "it is killed")
    if accounting == "without":
        broken = tmp_path / "broken"
        broken.mkdir()
        (broken / "sacct").write_text("#!/bin/sh\necho 'Slurm accounting storage is disabled' >&2\nexit 1\n")
        (broken / "sacct").chmod(0o755)
        monkeypatch.setenv("PATH", f"{broken}:{os.environ['PATH']}")
    assert seen(an_engine(), placement, Seen.ENDED).exit_code == 0
    assert (tmp_path / "starts").read_text() == "started\n"


def interrupted(*_):
    raise KeyboardInterrupt


def test_a_second_array_with_the_same_run_executes_nothing(an_engine, run, slurm, tmp_path, monkeypatch):
    """A process that was stopped before it calls sbatch submits an array that another one has submitted again."""
    first, second = an_engine(), an_engine()
    placement = start(first, run, ("sh", "-c", f"echo started >> {tmp_path}/starts; sleep 1"))
    submit, late = first._commands.submit, []
    monkeypatch.setattr(first._commands, "submit", lambda *words: late.append(words) or interrupted())
    with contextlib.suppress(KeyboardInterrupt):
        until(lambda: first.observe([placement]) and None, "it is stopped")
    seen(second, placement, Seen.RUNNING)
    submit(*late[0])
    assert seen(second, placement, Seen.ENDED).exit_code == 0
    until(lambda: not slurm.queue(), "both arrays have ended")
    assert (tmp_path / "starts").read_text() == "started\n"


def test_a_controller_that_is_away_loses_nothing(an_engine, slurm, tmp_path):
    engine = an_engine()
    command = (
        "sh",
        "-c",
        f"echo started >> {tmp_path}/starts; until [ -e {tmp_path}/go ]; do sleep 0.1; done",
    )
    running = start(engine, a_run(engine="slurm"), command)
    seen(engine, running, Seen.RUNNING)
    until((tmp_path / "starts").exists, "the benchmark runs")
    slurm.end("slurmctld", signal.SIGTERM)
    try:
        waiting = start(engine, a_run(engine="slurm"), ("true",))

        def refused():
            states = engine.observe([running, waiting])
            assert states[running.name].seen is Seen.RUNNING
            assert states[waiting.name].seen is Seen.WAITING
            return "contact" in states[waiting.name].reason

        until(refused, "the reason is shown")
        (tmp_path / "go").touch()
        assert seen(engine, running, Seen.ENDED).exit_code == 0
    finally:
        slurm.start_controller()
    assert seen(engine, waiting, Seen.ENDED).exit_code == 0
    assert (tmp_path / "starts").read_text() == "started\n"


@pytest.mark.timeout(240)  # Slurm looks at time limits twice a minute
def test_ends_that_slurm_has_forgotten_are_in_its_accounting(an_engine, slurm, limited):
    """The controller forgets what has ended, and the accounting daemon is behind: nothing is known, nothing is lost."""
    other, at_limit = limited
    engine = an_engine()
    killed = start(engine, a_run(engine="slurm"), ("sleep", "600"))
    seen(engine, killed, Seen.RUNNING)
    elements = {element_of(other, at_limit), element_of(engine, killed)}

    def listed(element):
        return element in slurm.call("squeue", "--noheader", "--format=%A_%a %i").split()

    until(lambda: not listed(element_of(other, at_limit)), "its time is over", patience_s=150.0)
    slurm.start_again(MinJobAge=2)
    slurm.end("slurmdbd")
    try:
        end_without_result(killed)

        def forgotten():
            known = slurm.call("squeue", "--noheader", "--states=all", "--format=%A_%a %i").split()
            return not elements & set(known)

        until(forgotten, "the controller has forgotten both", patience_s=90.0)
        states = {**engine.observe([killed]), **other.observe([at_limit])}
        assert {each.seen for each in states.values()} == {Seen.RUNNING}
    finally:
        slurm.start_accounting()
        slurm.start_again(MinJobAge=300)
    assert "vanished" in seen(engine, killed, Seen.LOST).reason
    observation = seen(other, at_limit, Seen.ENDED)
    assert (observation.cause, "time limit" in observation.reason) == (Cause.TIMEOUT, True)


def agent_of(placement):
    return json.loads((record_of(placement) / layout.ALIVE).read_bytes())["pid"]


def end_without_result(placement):
    os.kill(agent_of(placement), signal.SIGSTOP)
    os.kill(agent_of(placement), signal.SIGKILL)
