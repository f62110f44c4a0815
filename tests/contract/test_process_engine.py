"""Engine ``process``: the contract of engines, and what it promises beyond."""

import errno
import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from anubis.agent import process_tree
from anubis.engines import process
from anubis.engines.process import ProcessEngine, ProcessSettings
from anubis.model.cause import Cause
from anubis.model.errors import FullError, NoCapacityError, RevokedError, StageError
from anubis.model.hardware import Hardware
from anubis.model.launch import Launch
from anubis.model.run import Seen
from anubis.pipeline.host import agent_record, lock_files, placements
from anubis.record import layout, liveness
from anubis.testing import a_descriptor, a_run
from anubis.testing.contracts.engine import ReplicasContract, a_launch, start
from support.agents import is_running
from support.engines import HostEngineContract, facts_of, record_of, seen, stdout_of
from support.processes import left_in, until

SETTINGS = {"slots": 1, "min_free_bytes": 0}


@pytest.fixture
def an_engine(tmp_path):
    """Engines of one home folder, as different processes have them; nothing they started outlives the test."""
    engines = []

    def engine(**settings):
        folders = {"folder": tmp_path / "process", "records": tmp_path / "records"}
        engines.append(ProcessEngine(ProcessSettings(**folders, **{**SETTINGS, **settings})))
        return engines[-1]

    yield engine
    for pid in left_in(tmp_path):
        os.kill(pid, signal.SIGKILL)
    for child in [child for engine in engines for child in (*engine._started.values(), *engine._ending)]:
        child.wait()


@pytest.fixture
def engine(an_engine):
    return an_engine()


@pytest.fixture
def run():
    return a_run(engine="process")


def agent_of(placement):
    return json.loads((record_of(placement) / layout.ALIVE).read_bytes())["pid"]


def start_broken(engine, run, code):
    """Place a run whose agent is this code instead."""
    (replica,) = a_launch(engine, run, ("true",)).replicas
    broken = replace(replica, argv=(sys.executable, "-c", code))
    return engine.place(run, Launch(replicas=(broken,)))


class TestProcessEngine(HostEngineContract):
    """See anubis.testing.contracts.engine."""


class TestReplicasOfTheProcessEngine(ReplicasContract):
    """See anubis.testing.contracts.engine."""

    ended = HostEngineContract.ended


def test_several_engines_that_place_one_attempt_start_it_once(an_engine, run, tmp_path):
    command = ("sh", "-c", f"echo started >> {tmp_path}/starts")
    engines = [an_engine(slots=6) for _ in range(6)]
    together = threading.Barrier(len(engines))

    def place(engine):
        together.wait()
        return start(engine, run, command)

    with ThreadPoolExecutor(len(engines)) as pool:
        placements = list(pool.map(place, engines))
    assert len({placement.name for placement in placements}) == 1
    for engine in engines:
        assert seen(engine, placements[0], Seen.ENDED).exit_code == 0
    assert (tmp_path / "starts").read_text() == "started\n"


def test_what_was_placed_is_found_by_another_process(an_engine, run):
    assert an_engine().placed(run) is None
    placement = start(an_engine(), run, ("true",))
    assert an_engine().placed(run) == placement
    assert an_engine().placed(replace(run, attempt=2)) is None


def test_the_end_is_told_with_code_cause_and_reason(engine, run):
    observation = seen(engine, start(engine, run, ("sh", "-c", "exit 3")), Seen.ENDED)
    assert (observation.exit_code, observation.cause) == (3, Cause.USER_ERROR)
    assert "exit code 3" in observation.reason


def test_a_vanished_agent_is_lost_and_leaves_nothing(engine, run, tmp_path):
    """LOST is not ENDED; what the benchmark started in a new session is ended too."""
    command = ("sh", "-c", "setsid sleep 600 & echo $! > pid; wait")
    placement = start(engine, run, command, folder=str(tmp_path))
    until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), "the benchmark runs")
    os.kill(agent_of(placement), signal.SIGKILL)
    lost = seen(engine, placement, Seen.LOST)
    assert (lost.exit_code, lost.cause) == (None, None)
    assert "vanished" in lost.reason
    until(lambda: not left_in(tmp_path), "every process of the benchmark is gone")
    assert not is_running(int((tmp_path / "pid").read_text()))
    engine.cancel(placement)
    assert engine.observe([placement])[placement.name].seen is Seen.LOST


def test_a_placement_of_another_machine_is_not_cancelled_here(engine, run):
    """Machines and containers may share a home folder: a process id of the one means another process in the other."""
    placement = start(engine, run, ("sleep", "600"))
    seen(engine, placement, Seen.RUNNING)
    engine.cancel(replace(placement, details={**placement.details, "host": "another"}))
    assert not (record_of(placement) / layout.CANCEL).exists()
    engine.cancel(placement)
    assert seen(engine, placement, Seen.ENDED).cause is Cause.CANCELLED


def test_a_slot_frees_itself_when_its_agent_dies(engine, run):
    command = ("sleep", "600")
    placement = start(engine, run, command)
    with pytest.raises(NoCapacityError) as full:
        start(engine, a_run(engine="process"), command)
    assert "ANUBIS_PROCESS_SLOTS" in full.value.remedy
    seen(engine, placement, Seen.RUNNING)
    os.kill(agent_of(placement), signal.SIGKILL)
    seen(engine, placement, Seen.LOST)
    other = until(lambda: _room(engine, command), "the slot is free")
    engine.cancel(other)
    assert engine.observe([placement])[placement.name].seen is Seen.LOST


def _room(engine, command):
    try:
        return start(engine, a_run(engine="process"), command)
    except NoCapacityError:
        return None


def test_the_benchmark_does_not_hold_the_slot(engine, run, tmp_path):
    """A lock that a daemon of the benchmark inherited would never be free again."""
    command = ("sh", "-c", "ls -l /proc/self/fd")
    placement = start(engine, run, command)
    seen(engine, placement, Seen.ENDED)
    assert "slot-" not in stdout_of(placement)


def test_as_many_run_at_once_as_there_are_slots(an_engine):
    engine, command = an_engine(slots=3), ("sleep", "600")
    placements = [start(engine, a_run(engine="process"), command) for _ in range(3)]
    with pytest.raises(NoCapacityError):
        start(engine, a_run(engine="process"), command)
    for placement in placements:
        seen(engine, placement, Seen.RUNNING)
        engine.cancel(placement)
        assert seen(engine, placement, Seen.ENDED).cause is Cause.CANCELLED


def test_cancelling_before_the_agent_has_shown_itself_is_not_forgotten(engine, run, monkeypatch):
    """Between its start and its first sign, the agent cannot be asked to end."""
    placement = start(engine, run, ("sleep", "600"))
    monkeypatch.setattr(liveness, "cancel", lambda record: False)
    engine.cancel(placement)
    monkeypatch.undo()
    assert seen(engine, placement, Seen.ENDED).cause is Cause.CANCELLED


def test_an_agent_that_does_not_obey_is_killed(engine, run, monkeypatch, tmp_path):
    placement = start(engine, run, ("sleep", "600"))
    seen(engine, placement, Seen.RUNNING)
    os.kill(agent_of(placement), signal.SIGSTOP)
    engine.cancel(placement)
    monkeypatch.setattr(agent_record, "FORCE_S", -1.0)
    assert "vanished" in seen(engine, placement, Seen.LOST).reason
    until(lambda: not left_in(tmp_path), "every process of the benchmark is gone")


def test_an_agent_that_never_started_is_lost_with_its_last_words(engine, run):
    placement = start_broken(engine, run, "raise SystemExit('no room in the ark')")
    assert "no room in the ark" in seen(engine, placement, Seen.LOST).reason


def test_nothing_is_placed_on_a_full_disk(an_engine, run, tmp_path):
    engine = an_engine(min_free_bytes=1 << 62)
    with pytest.raises(StageError) as refused:
        start(engine, run, ("true",))
    assert refused.value.cause is Cause.DISK_FULL
    assert engine.placed(run) is None
    assert not (tmp_path / "process" / "slot-0.lock").exists()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_what_was_kept_free_for_the_end_is_free_when_it_has_come(engine, run, end):
    placement = start(engine, run, ("sleep", "600"))
    seen(engine, placement, Seen.RUNNING)
    ballast = record_of(placement) / layout.BALLAST
    assert ballast.stat().st_blocks * 512 >= agent_record.BALLAST_BYTES
    os.kill(agent_of(placement), end)
    seen(engine, placement, Seen.ENDED if end == signal.SIGTERM else Seen.LOST)
    assert not ballast.exists()


def test_a_command_longer_than_the_system_takes_is_told(engine, run):
    with pytest.raises(StageError) as refused:
        start(engine, run, ("true", "x" * 10_000_000))
    assert refused.value.cause is Cause.USER_ERROR
    assert "longer" in refused.value.message
    assert start(engine, a_run(engine="process"), ("true",)), "the slot is free again"


def test_what_it_says_when_there_is_no_record(engine, run):
    placement = start_broken(engine, run, "import sys; print('words', file=sys.stderr)")
    seen(engine, placement, Seen.LOST)
    assert b"".join(engine.logs(placement)) == b"words\n"
    gone = replace(placement, details={"record": "/no/such/record"})
    assert b"".join(engine.logs(gone)) == b""


PRINT_LIMITS = (
    "import json, os, resource; print(json.dumps([sorted(os.sched_getaffinity(0)), "
    "resource.getrlimit(resource.RLIMIT_DATA)[0], os.environ.get('CUDA_VISIBLE_DEVICES')]))"
)


def limited(engine, environment=None, **hardware):
    """The CPUs, the limit of memory and the GPUs of a benchmark with these fields of ``[hardware]``."""
    descriptor = a_descriptor(hardware=Hardware(instance_type="local", **hardware))
    run = a_run(descriptor, engine="process")
    launch = a_launch(engine, run, (sys.executable, "-c", PRINT_LIMITS))
    (replica,) = launch.replicas
    given = {name: value for name, value in replica.environment.items() if name != "CUDA_VISIBLE_DEVICES"}
    replica = replace(replica, environment={**given, **(environment or {})})

    def place():
        try:
            return engine.place(run, Launch(replicas=(replica,)))
        except NoCapacityError:  # the agent before it frees its slot after it has written its result
            return None

    placement = until(place, "there is room")
    seen(engine, placement, Seen.ENDED)
    return json.loads(stdout_of(placement)), facts_of(placement)


def test_the_requested_limits_are_set(engine):
    (cpus, memory, gpus), facts = limited(engine, cpus=0.5, memory_gb=0.25, gpus=0)
    first = min(os.sched_getaffinity(0))
    assert (cpus, memory, gpus) == ([first], 1 << 28, "")
    assert facts["limits"] == {"cpus": str(first), "memory_bytes": 1 << 28, "gpus": "none"}


def test_nothing_is_limited_without_a_request(engine):
    (cpus, memory, gpus), facts = limited(engine)
    assert (cpus, memory, gpus) == (sorted(os.sched_getaffinity(0)), -1, None)
    assert facts["limits"] == {"cpus": None, "memory_bytes": None, "gpus": None}


def test_more_cpus_than_the_machine_has_are_only_recorded(engine):
    (cpus, _, _), _ = limited(engine, cpus=len(os.sched_getaffinity(0)) + 1)
    assert cpus == sorted(os.sched_getaffinity(0))


@pytest.fixture
def gpus(monkeypatch):
    monkeypatch.setattr("anubis.pipeline.host.resources.gpus", lambda: ["GPU-a", "GPU-b"])


def test_a_run_gets_as_many_gpus_as_it_requests(gpus, engine):
    assert limited(engine, gpus=1)[0][2] == "GPU-a"
    assert limited(engine, gpus=2)[0][2] == "GPU-a,GPU-b"
    assert limited(engine, gpus=3)[0][2] is None
    assert limited(engine, {"CUDA_VISIBLE_DEVICES": "1, 0"}, gpus=1)[0][2] == "1"


def test_gpus_that_the_environment_excludes_are_not_used(gpus, engine):
    with pytest.raises(StageError, match="leaves 1 GPUs") as caught:
        limited(engine, {"CUDA_VISIBLE_DEVICES": "1"}, gpus=2)
    assert caught.value.cause is Cause.USER_ERROR


def test_two_runs_do_not_share_a_gpu(gpus, an_engine, run):
    engine = an_engine(slots=3)
    descriptor = a_descriptor(hardware=Hardware(instance_type="local", gpus=1))
    placements = []
    for _ in range(2):
        each = a_run(descriptor, engine="process")
        placements.append(start(engine, each, ("sleep", "60")))
    with pytest.raises(NoCapacityError, match="GPUs are requested, 0 are free"):
        start(engine, a_run(descriptor, engine="process"), ("true",))
    start(engine, run, ("true",))  # the third slot is free again
    for placement in placements:
        engine.cancel(placement)


def test_every_agent_is_waited_for_although_it_exits_after_its_result(engine, run):
    placement = start(engine, run, ("true",))
    (agent,) = engine._started.values()
    until(lambda: engine.observe([placement])[placement.name].seen is Seen.ENDED, "the result is there")
    until(lambda: engine.observe([placement]) and agent.returncode is not None, "its status was read")
    assert (engine._started, engine._ending) == ({}, [])


def start_stopped(engine, run, folder):
    """Place a run whose agent is stopped before its first instruction; its process id."""
    (replica,) = a_launch(engine, run, ("sh", "-c", f"echo executed > {folder}/executed")).replicas
    words = ("sh", "-c", 'kill -STOP $$; exec "$@"', "sh", *replica.argv)
    engine.place(run, Launch(replicas=(replace(replica, argv=words),)))
    pid = engine._started[engine.placed(run).details["record"]].pid
    until(lambda: " T " in Path(f"/proc/{pid}/stat").read_text(), "it has stopped")
    return pid


def test_an_agent_that_was_given_up_never_executes_the_benchmark(an_engine, run, tmp_path, monkeypatch):
    first, second = an_engine(), an_engine()
    pid = start_stopped(first, run, tmp_path)
    placement = second.placed(run)
    assert second.observe([placement])[placement.name].seen is Seen.WAITING
    monkeypatch.setattr(placements, "APPEAR_S", -1.0)
    monkeypatch.setattr(process_tree, "agents_of", lambda record: [])  # as if the kill came too late
    lost = second.observe([placement])[placement.name]
    assert (lost.seen, "did not start" in lost.reason) == (Seen.LOST, True)
    os.kill(pid, signal.SIGCONT)
    until(lambda: first._started[placement.details["record"]].poll() is not None, "the agent has ended")
    assert not (tmp_path / "executed").exists()
    assert an_engine().observe([placement])[placement.name].seen is Seen.LOST
    assert start(second, a_run(engine="process"), ("true",)), "the slot is free"


def test_an_agent_that_was_given_up_frees_its_slot_at_once(an_engine, run, tmp_path, monkeypatch):
    first, second = an_engine(), an_engine()
    start_stopped(first, run, tmp_path)
    placement = second.placed(run)
    monkeypatch.setattr(placements, "APPEAR_S", -1.0)
    assert second.observe([placement])[placement.name].seen is Seen.LOST
    assert until(lambda: _room(second, ("true",)), "the slot is free")


def test_an_agent_that_appears_while_it_is_given_up_is_running(engine, run, monkeypatch):
    placement = start(engine, run, ("sleep", "600"))
    seen(engine, placement, Seen.RUNNING)
    assert agent_record.give_up(record_of(placement), "it is late").seen is Seen.RUNNING
    engine.cancel(placement)
    seen(engine, placement, Seen.ENDED)


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_wall_clock_that_jumps_delays_and_hastens_nothing(an_engine, run, tmp_path, monkeypatch, jump_s):
    """Neither the wait for an agent nor that for its end depends on the wall clock."""
    first, second = an_engine(), an_engine()
    pid = start_stopped(first, run, tmp_path)
    wall_s = time.time
    monkeypatch.setattr(time, "time", lambda: wall_s() + jump_s)
    placement = second.placed(run)
    os.utime(record_of(placement), (wall_s() + jump_s,) * 2)
    assert second.observe([placement])[placement.name].seen is Seen.WAITING
    second.cancel(placement)
    os.utime(record_of(placement) / layout.CANCEL, (wall_s() - jump_s,) * 2)
    os.kill(pid, signal.SIGCONT)
    ended = seen(second, placement, Seen.ENDED)
    assert ended.cause is Cause.CANCELLED, "the agent was asked, not killed"
    assert not (tmp_path / "executed").exists()


def test_one_placement_that_cannot_be_observed_hides_no_other(engine, run, monkeypatch):
    bad, good_run = start(engine, run, ("true",)), a_run(engine="process")
    seen(engine, bad, Seen.ENDED)
    good = until(lambda: _place(engine, good_run), "the first agent has freed the slot")
    seen(engine, good, Seen.ENDED)
    observed = agent_record.observed
    monkeypatch.setattr(
        agent_record, "observed", lambda record: 1 / 0 if str(run.id) in str(record) else observed(record)
    )
    assert set(engine.observe([bad, good])) == {good.name}


class StoppedPlacer:
    """A process that is stopped within ``place``: at this name of the module, before or after it is called."""

    def __init__(self, engine, run, name, folder):
        self._stopped, self._continue = threading.Event(), threading.Event()
        self._engine, self._run, self._name = engine, run, name
        self._command = ("sh", "-c", f"echo executed >> {folder}/executed")
        self._pool = ThreadPoolExecutor(1)

    def start(self, patch, *, after=False):
        inner = getattr(process, self._name)

        def stopping(*given):
            if after:
                result = inner(*given)
            self._stopped.set()
            assert self._continue.wait(60)
            return result if after else inner(*given)

        patch.setattr(process, self._name, stopping)
        self._answer = self._pool.submit(start, self._engine, self._run, self._command)
        assert self._stopped.wait(60)
        patch.undo()

    def resume(self):
        """Let it continue; the error of ``place``, None: it returned a placement."""
        self._continue.set()
        return self._answer.exception(60)


@pytest.fixture(params=[("prepare", False), ("prepare", True), ("_start", False)], ids=str)
def stopped_placer(request, an_engine, run, tmp_path, monkeypatch):
    name, after = request.param
    placer = StoppedPlacer(an_engine(), run, name, tmp_path)
    placer.start(monkeypatch, after=after)
    yield placer
    placer.resume()


def test_a_run_that_was_cancelled_is_not_started_by_a_stopped_process(
    stopped_placer, an_engine, run, tmp_path
):
    engine = an_engine()
    assert engine.revoke(run)
    assert engine.revoke(run), "again"
    stopped_placer.resume()
    until(lambda: _room(engine, ("true",)), "the slot is free")
    until(lambda: not left_in(tmp_path), "every agent has ended")
    assert not (tmp_path / "executed").exists()
    assert not list(tmp_path.glob(f"records/{run.id}/**/{layout.BALLAST}"))


def test_the_slot_of_a_stopped_process_is_recovered(stopped_placer, an_engine, run, tmp_path, monkeypatch):
    engine = an_engine()
    monkeypatch.setattr(lock_files, "STALLED_S", 0.0)
    with pytest.raises(RevokedError):
        until(lambda: _place(engine, run), "the slot is recovered")
    again = until(lambda: _place(engine, replace(run, attempt=2)), "the next attempt is placed")
    stopped_placer.resume()
    assert seen(engine, again, Seen.ENDED).exit_code == 0
    assert not (tmp_path / "executed").exists(), "the first attempt was never executed"


def _place(engine, run):
    try:
        return start(engine, run, ("true",))
    except NoCapacityError:
        return None


def test_a_process_that_is_stopped_after_its_agent_ended_frees_its_slot(
    an_engine, run, tmp_path, monkeypatch
):
    placer = StoppedPlacer(an_engine(), run, "_start", tmp_path)
    placer.start(monkeypatch, after=True)
    engine = an_engine()
    seen(engine, engine.placed(run), Seen.ENDED)
    monkeypatch.setattr(lock_files, "STALLED_S", 0.0)
    assert until(lambda: _room(engine, ("true",)), "the slot is recovered")
    assert placer.resume() is None
    assert (tmp_path / "executed").read_text() == "executed\n"


def test_a_slot_is_not_recovered_while_its_agent_runs(an_engine, run, monkeypatch):
    engine, other = an_engine(), an_engine()
    monkeypatch.setattr(lock_files, "STALLED_S", 0.0)
    placement = start(engine, run, ("sleep", "600"))
    seen(engine, placement, Seen.RUNNING)
    for _ in range(3):
        assert _room(other, ("true",)) is None
    assert not engine.revoke(run)
    engine.cancel(placement)
    assert seen(engine, placement, Seen.ENDED).cause is Cause.CANCELLED


def no_space(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_slot_that_cannot_be_noted_on_a_full_disk_fails_the_run_with_that_cause(engine, run, monkeypatch):
    monkeypatch.setattr(os, "pwrite", no_space)
    with pytest.raises(StageError) as refused:
        start(engine, run, ("true",))
    assert refused.value.cause is Cause.DISK_FULL
    monkeypatch.undo()
    assert start(engine, run, ("true",)), "the slot is free again"


def test_an_attempt_that_cannot_be_revoked_on_a_full_disk_is_revoked_later(engine, run, monkeypatch):
    monkeypatch.setattr(os, "link", no_space)
    with pytest.raises(FullError):
        engine.revoke(run)
    monkeypatch.undo()
    assert engine.revoke(run)
