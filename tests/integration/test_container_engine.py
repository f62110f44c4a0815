"""Engine ``container`` on a real Podman: the contract of engines, and what it promises beyond."""

import fcntl
import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from anubis.engines.container import ContainerEngine, ContainerSettings
from anubis.engines.process import ProcessEngine, ProcessSettings
from anubis.model.cause import Cause
from anubis.model.descriptor import Measure
from anubis.model.errors import NoCapacityError, NotReadyError, StageError
from anubis.model.hardware import Hardware, Strategy
from anubis.model.launch import Launch
from anubis.model.run import Seen
from anubis.pipeline.host import agent_record, container_agent, peers, resources
from anubis.pipeline.host.container_agent import ContainerAgent
from anubis.pipeline.host.container_state import container_of
from anubis.record import layout, liveness
from anubis.testing import a_descriptor, a_run
from anubis.testing.contracts.engine import ReplicasContract, a_launch, start
from support.engines import HostEngineContract, facts_of, folders, record_of, seen, stdout_of
from support.podman import IMAGE, gpu, podman  # noqa: F401  a fixture
from support.processes import until


@pytest.fixture
def an_engine(podman, tmp_path):  # noqa: F811
    """Engines of one home folder, as different processes have them; no container outlives the test."""
    engines = []

    def engine(**settings):
        settings = {"network": "none", "min_free_bytes": 0, **folders(tmp_path), **settings}
        engines.append(ContainerEngine(ContainerSettings(**settings)))
        return engines[-1]

    yield engine
    for each in engines:
        each._tool.wait()
    if left := podman.containers():
        podman("rm", "--force", *left)


@pytest.fixture
def engine(an_engine):
    return an_engine()


@pytest.fixture
def run():
    return a_run(engine="container")


def pid_of(podman, placement):  # noqa: F811
    """The process id of the agent on this machine."""
    return int(podman("inspect", "--format", "{{.State.Pid}}", container_of(placement)))


def shell(text):
    return ("sh", "-c", text)


def run_to_end(engine, run, *command, **changes):
    """What the command printed."""
    placement = start(engine, run, command, **{"image": IMAGE, **changes})
    assert seen(engine, placement, Seen.ENDED).exit_code == 0
    return stdout_of(placement)


class TestContainerEngine(HostEngineContract):
    """See anubis.testing.contracts.engine. The image has neither Python nor a C library."""

    image = IMAGE


class TestReplicasOfTheContainerEngine(ReplicasContract):
    """See anubis.testing.contracts.engine."""

    ended = HostEngineContract.ended
    image = IMAGE


def test_several_engines_that_place_one_attempt_start_it_once(an_engine, run, tmp_path):
    engines = [an_engine(slots=3) for _ in range(3)]
    together = threading.Barrier(len(engines))
    command = shell("echo started; cat /anubis/record/alive")

    def place(engine):
        together.wait()
        return start(engine, run, command, image=IMAGE)

    with ThreadPoolExecutor(len(engines)) as pool:
        placements = list(pool.map(place, engines))
    assert len({placement.name for placement in placements}) == 1
    for engine in engines:
        assert seen(engine, placements[0], Seen.ENDED).exit_code == 0
    assert stdout_of(placements[0]).count("started") == 1


def test_no_container_is_left_and_the_end_is_recorded(engine, run, podman):  # noqa: F811
    placement = start(engine, run, shell("exit 3"), image=IMAGE)
    observation = seen(engine, placement, Seen.ENDED)
    assert (observation.exit_code, observation.cause) == (3, Cause.USER_ERROR)
    until(lambda: not podman.containers(), "the container is removed")


def test_the_sidecars_run_in_an_image_without_python(engine, run):
    placement = start(engine, run, shell("sleep 1.2; echo '{\"loss\": 2.5}'"), image=IMAGE)
    seen(engine, placement, Seen.ENDED)
    outcome = json.loads((record_of(placement) / layout.EXIT).read_text())
    assert (outcome["sampling"], outcome["extraction"]) == ("complete", "complete")
    assert json.loads((record_of(placement) / layout.METRICS).read_text())["metrics"]["loss"]["count"] == 1


def test_the_image_is_recorded_with_its_digest(engine, run, podman):  # noqa: F811
    placement = start(engine, run, ("true",), image=IMAGE)
    seen(engine, placement, Seen.ENDED)
    image = facts_of(placement)["image"]
    assert image["name"] == IMAGE
    assert image["digest"] in podman("image", "inspect", "--format", "{{.RepoDigests}}", IMAGE)


@pytest.mark.parametrize(
    ("changes", "arguments", "printed"),
    [
        (['ENTRYPOINT ["/bin/echo", "a b"]', 'CMD ["c"]'], (), "a b c\n"),
        (['ENTRYPOINT ["/bin/echo", "a b"]', 'CMD ["c"]'], ("d",), "a b d\n"),
        (['CMD ["echo", "from the command"]'], (), "from the command\n"),
    ],
)
def test_without_a_command_the_entry_point_of_the_image_runs(
    engine,
    run,
    podman,  # noqa: F811
    changes,
    arguments,
    printed,
):
    image = podman.create("localhost/anubis-test/entry:1", *changes)
    assert run_to_end(engine, run, image=image, arguments=arguments) == printed


def test_a_command_replaces_the_entry_point(engine, run, podman):  # noqa: F811
    image = podman.create("localhost/anubis-test/entry:2", 'ENTRYPOINT ["/bin/false"]', "WORKDIR /tmp")
    assert run_to_end(engine, run, *shell("pwd; echo $PATH"), image=image) == "/tmp\n/bin\n"


def test_an_image_without_an_entry_point_needs_a_command(engine, run):
    with pytest.raises(StageError) as refused:
        start(engine, run, (), image=IMAGE)
    assert refused.value.cause is Cause.NO_ENTRY_POINT
    assert start(engine, a_run(engine="container"), ("true",), image=IMAGE), "the slot is free"


def test_an_image_for_another_processor_is_refused(engine, run, podman):  # noqa: F811
    image = podman.create("localhost/anubis-test/other:1", architecture="s390x")
    with pytest.raises(StageError, match="linux/s390x") as refused:
        start(engine, run, ("true",), image=image)
    assert refused.value.cause is Cause.WRONG_ARCHITECTURE


def with_hardware(engine, *command, extended_shm=True, **hardware):
    """A placement of a run with these fields of ``[hardware]``."""
    run = a_run(a_descriptor(hardware=Hardware(instance_type="local", **hardware)), engine="container")
    limits = {name: hardware.get(name) for name in ("cpus", "memory_gb", "gpus")}
    return start(engine, run, command, image=IMAGE, extended_shm=extended_shm, **limits)


def test_the_memory_limit_ends_the_benchmark_with_its_cause(engine, tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    placement = with_hardware(
        engine, "dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1", memory_gb=0.0625
    )
    observation = seen(engine, placement, Seen.ENDED)
    assert (observation.cause, observation.exit_code) == (Cause.OUT_OF_MEMORY, 137)
    assert facts_of(placement)["memory"]["limit_bytes"] == 64 << 20
    assert not list(Path.cwd().iterdir()), (
        "the monitor of the container writes no file into the folder of the user"
    )


def test_a_container_that_is_killed_at_its_memory_limit_ran_out_of_memory(engine, podman):  # noqa: F811
    placement = with_hardware(engine, "sleep", "60", memory_gb=0.0625)
    seen(engine, placement, Seen.RUNNING)
    os.kill(pid_of(podman, placement), signal.SIGKILL)
    observation = seen(engine, placement, Seen.ENDED)
    assert observation.cause is Cause.OUT_OF_MEMORY
    assert "64 MiB" in observation.reason


def test_the_limits_of_cpus_and_shared_memory_are_set(engine):
    command = shell("df -k /dev/shm | tail -n 1 || df -k /dev/shm")
    first = with_hardware(engine, *command, cpus=0.5, gpus=0)
    seen(engine, first, Seen.ENDED)
    facts = facts_of(first)
    assert facts["cpu"]["limit"] == 0.5
    assert facts["limits"] == {
        "cpus": str(min(os.sched_getaffinity(0))),
        "memory_bytes": None,
        "gpus": "none",
    }
    second = with_hardware(engine, *command, extended_shm=False)
    seen(engine, second, Seen.ENDED)
    sizes = [int(shm_line(placement).split()[1]) for placement in (first, second)]
    assert sizes[0] >= 1024 * 1024 > 65536 >= sizes[1]


def test_a_requested_gpu_is_in_the_container_and_no_other_run_has_it(engine, gpu):  # noqa: F811
    placement = with_hardware(engine, *shell(f"test -c /dev/{gpu} && echo $CUDA_VISIBLE_DEVICES"), gpus=1)
    assert seen(engine, placement, Seen.ENDED).exit_code == 0
    assert stdout_of(placement) == f"{gpu}\n"
    assert facts_of(placement)["limits"]["gpus"] == gpu
    other = with_hardware(engine, *shell(f"test ! -e /dev/{gpu}"))
    assert seen(engine, other, Seen.ENDED).exit_code == 0


def shm_line(placement):
    text = stdout_of(placement)
    return next(line for line in text.splitlines() if "/dev/shm" in line)


def test_the_network_is_that_of_the_settings(an_engine, run):
    assert run_to_end(an_engine(network="none"), run, "ls", "/sys/class/net") == "lo\n"
    devices = run_to_end(an_engine(network="host"), a_run(), "ls", "/sys/class/net").split()
    assert set(devices) == {path.name for path in Path("/sys/class/net").iterdir()}


def test_an_unknown_network_is_refused_and_leaves_nothing(an_engine, run, podman):  # noqa: F811
    engine = an_engine(network="no-such-network")
    with pytest.raises(StageError, match="no-such-network") as refused:
        start(engine, run, ("true",), image=IMAGE)
    assert "ANUBIS_CONTAINER_NETWORK" in refused.value.remedy
    until(lambda: not podman.containers(), "the container is removed")


def test_privileged_containers_need_the_permission_of_the_operator(an_engine, run):
    with pytest.raises(StageError, match="not allowed") as refused:
        start(an_engine(), run, ("true",), image=IMAGE, privileged=True)
    assert refused.value.cause is Cause.USER_ERROR
    command = shell("cat /proc/self/status")
    text = run_to_end(an_engine(privileged=True), run, *command, privileged=True)
    other = run_to_end(an_engine(privileged=True), a_run(), *command)
    assert capabilities(text) & ~capabilities(other)


def capabilities(status):
    return int(next(line for line in status.splitlines() if line.startswith("CapEff")).split()[1], 16)


def test_scripts_and_agent_cannot_be_changed_and_the_record_is_private(engine, run):
    text = run_to_end(
        engine, run, *shell("touch /anubis/agent/x /anubis/locks/slot-0.lock; id -u; echo done")
    )
    assert text == "0\ndone\n"
    placement = engine.placed(run)
    assert "Read-only file system" in (record_of(placement) / layout.STDERR).read_text()
    for path in record_of(placement).iterdir():
        assert path.stat().st_mode & 0o077 == 0, path
        assert path.stat().st_uid == os.geteuid()


def with_variables(engine, run, command, **variables):
    (replica,) = a_launch(engine, run, command, image=IMAGE).replicas
    return Launch(replicas=(replace(replica, environment={**replica.environment, **variables}),))


def test_variables_reach_only_the_benchmark(engine, run, podman, tmp_path):  # noqa: F811
    """A secret is neither in the command lines nor in what the container tool stores."""
    launch = with_variables(
        engine, run, shell('echo "$TOKEN" | head -c 3; sleep 60'), TOKEN="s3cret\nof two lines", PATH="/bin"
    )
    placement = engine.place(run, launch)
    seen(engine, placement, Seen.RUNNING)
    assert "s3cret" not in podman("inspect", container_of(placement))
    assert not list(tmp_path.glob("container/variables-*"))
    until(lambda: stdout_of(placement) == "s3c", "the benchmark has its variable")
    engine.cancel(placement)
    assert seen(engine, placement, Seen.ENDED).cause is Cause.CANCELLED


def test_a_library_that_the_image_preloads_is_for_the_benchmark_only(engine, run, podman):  # noqa: F811
    """It may need another C library than that of the agent and its sidecars, whose loader would complain."""
    image = podman.create("localhost/anubis-test/preload:1", "ENV LD_PRELOAD=/lib/other-libc.so")
    placement = start(engine, run, shell("echo $LD_PRELOAD; sleep 60"), image=image)
    until((record_of(placement) / layout.TELEMETRY).exists, "the sampler has started")
    assert stdout_of(placement) == "/lib/other-libc.so\n"
    assert podman("logs", container_of(placement)) == ""
    engine.cancel(placement)
    seen(engine, placement, Seen.ENDED)


def test_containers_and_processes_share_the_slots_of_the_machine(engine, run, tmp_path, podman):  # noqa: F811
    placement = start(engine, run, ("sleep", "60"), image=IMAGE)
    process = ProcessEngine(
        ProcessSettings(folder=tmp_path / "process", records=tmp_path / "records", min_free_bytes=0)
    )
    for each in (engine, process):
        with pytest.raises(NoCapacityError, match="all 1 slots"):
            start(each, a_run(engine=each.name), ("true",), image=IMAGE)
    seen(engine, placement, Seen.RUNNING)
    os.kill(pid_of(podman, placement), signal.SIGKILL)
    assert "vanished" in seen(engine, placement, Seen.LOST).reason
    until(lambda: slot_is_free(tmp_path), "the slot is free")
    until(lambda: not podman.containers(), "the container is removed")


def slot_is_free(folder):
    with (folder / "process" / "slot-0.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_an_agent_waits_for_a_slot_that_another_one_has(engine, run, tmp_path, monkeypatch):
    """Between the engine and the agent, the slot is free for an instant: here, another engine takes it."""
    slot, close, taken = tmp_path / "process" / "slot-0.lock", resources.Reserved.close, []

    def lose(reserved):
        if reserved.locks and reserved.paths == [slot]:
            taken.append(os.dup(reserved.locks[0]))
        close(reserved)

    monkeypatch.setattr(resources.Reserved, "close", lose)
    placement = start(engine, run, ("true",), image=IMAGE)
    assert seen(engine, placement, Seen.RUNNING)
    assert not [event for event in events(placement) if event["event"] == "execution_started"]
    os.close(taken[0])
    assert seen(engine, placement, Seen.ENDED).exit_code == 0


def events(placement):
    return [json.loads(line) for line in (record_of(placement) / layout.EVENTS).read_text().splitlines()]


def test_an_agent_that_does_not_obey_is_removed(engine, run, monkeypatch, podman):  # noqa: F811
    placement = start(engine, run, ("sleep", "60"), image=IMAGE)
    seen(engine, placement, Seen.RUNNING)
    os.kill(pid_of(podman, placement), signal.SIGSTOP)
    engine.cancel(placement)
    monkeypatch.setattr(agent_record, "FORCE_S", -1.0)
    assert "vanished" in seen(engine, placement, Seen.LOST).reason
    until(lambda: not podman.containers(), "the container is removed")


def test_an_agent_that_cannot_start_is_lost_with_its_message(an_engine, run, podman, monkeypatch):  # noqa: F811
    engine = an_engine()
    (replica,) = a_launch(engine, run, ("true",), image=IMAGE).replicas
    argv = tuple(word.replace("anubis.agent.entry", "no_such_module") for word in replica.argv)
    placement = engine.place(run, Launch(replicas=(replace(replica, argv=argv),)))
    assert "no_such_module" in seen(engine, placement, Seen.LOST).reason
    assert b"no_such_module" in b"".join(engine.logs(placement))
    until(lambda: not podman.containers(), "the container is removed")


def test_what_a_killed_process_left_behind_is_removed(an_engine, run, podman, tmp_path):  # noqa: F811
    """The driver was killed after the end of the run, before it removed the container."""
    first = an_engine()
    placement = start(first, run, ("true",), image=IMAGE)
    until((record_of(placement) / layout.EXIT).exists, "the run has ended")
    (tmp_path / "container" / "variables-0.json").write_text("{}")
    assert podman.containers() == [container_of(placement)]
    second = an_engine()
    other = start(second, a_run(engine="container"), ("sleep", "60"), image=IMAGE)
    until(lambda: podman.containers() == [container_of(other)], "only the container that runs is left")
    until(lambda: not list(tmp_path.glob("container/variables-*")), "the variables are removed")
    second.cancel(other)


@pytest.fixture
def two_ranks():
    """A run of two ranks, and its launch on an engine."""
    hardware = Hardware(instance_type="local", strategy=Strategy.TORCHRUN)
    run = a_run(a_descriptor(hardware=hardware), engine="container")
    return run, lambda engine, *command: a_launch(engine, run, command, image=IMAGE, replicas=2)


def test_a_replica_that_does_not_end_with_its_run_is_killed(engine, two_ranks, podman, monkeypatch):  # noqa: F811
    run, launch_on = two_ranks
    placement = engine.place(run, launch_on(engine, "sleep", "60"))
    seen(engine, placement, Seen.RUNNING)
    other = record_of(placement).parent / "1"
    pid = podman("inspect", "--format", "{{.State.Pid}}", container_of(placement, other))
    os.kill(int(pid), signal.SIGSTOP)
    podman("kill", "--signal", "KILL", container_of(placement))
    assert engine.observe([placement])[placement.name].seen is Seen.RUNNING, "a replica is left"
    with pytest.raises(NoCapacityError, match="slots"):
        start(engine, a_run(engine="container"), ("true",), image=IMAGE)
    monkeypatch.setattr(peers, "FORCE_S", -2.0)
    assert "vanished" in seen(engine, placement, Seen.LOST).reason
    until(lambda: not podman.containers(), "every container is removed")


def test_what_a_killed_process_left_of_several_replicas_is_removed(an_engine, two_ranks, podman):  # noqa: F811
    run, launch_on = two_ranks
    first = an_engine()
    placement = first.place(run, launch_on(first, "true"))
    other = record_of(placement).parent / "1"
    until(lambda: liveness.state(str(other)) == liveness.DEAD, "the other replica has ended")
    until((record_of(placement) / layout.EXIT).exists, "the run has ended")
    assert set(podman.containers()) == {container_of(placement), container_of(placement, other)}
    second = an_engine()
    last = start(second, a_run(engine="container"), ("sleep", "60"), image=IMAGE)
    until(lambda: podman.containers() == [container_of(last)], "only the container that runs is left")
    second.cancel(last)
    seen(second, last, Seen.ENDED)


def test_an_agent_of_another_replica_that_cannot_start_ends_the_run_at_once(engine, two_ranks):
    run, launch_on = two_ranks
    launch = launch_on(engine, "sleep", "60")
    (other,) = launch.others
    broken = replace(
        other, argv=tuple(word.replace("anubis.agent.entry", "no_such_module") for word in other.argv)
    )
    placement = engine.place(run, Launch(replicas=(launch.measured, broken)))
    observation = seen(engine, placement, Seen.ENDED)
    assert observation.cause is Cause.LOST
    assert "benchmark 1 did not start" in observation.reason
    assert b"no_such_module" in (record_of(placement).parent / "1" / layout.AGENT_LOG).read_bytes()


def test_replicas_share_the_network_of_the_machine_where_it_is_set(an_engine, two_ranks):
    run, launch_on = two_ranks
    engine = an_engine(network="host")
    assert engine.capabilities.mounting.shares_ports
    placement = engine.place(run, launch_on(engine, "ls", "-l", "/proc/self/ns/net"))
    assert seen(engine, placement, Seen.ENDED).exit_code == 0
    namespace = str(Path("/proc/self/ns/net").readlink())
    assert namespace in stdout_of(placement)
    assert namespace in (record_of(placement).parent / "1" / layout.STDOUT).read_text()


@pytest.fixture
def tool(podman, tmp_path):  # noqa: F811
    """A container tool whose daemon can be stopped: ``tool.away`` and ``tool.back``."""
    away = tmp_path / "away"
    program = tmp_path / "podman"
    message = (
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
    )
    program.write_text(
        f'#!/bin/sh\n[ -e {away} ] && echo "{message}" >&2 && exit 1\nexec {podman.program} "$@"\n'
    )
    program.chmod(0o755)
    return program, away


def test_a_daemon_that_is_gone_delays_runs_and_loses_none(an_engine, run, tool):
    program, away = tool
    engine = an_engine(tool=str(program))
    away.touch()
    with pytest.raises(NotReadyError, match="does not respond: Cannot connect"):
        start(engine, run, ("true",), image=IMAGE)
    away.unlink()
    placement = start(engine, run, ("true",), image=IMAGE)
    away.touch()
    assert seen(engine, placement, Seen.ENDED).exit_code == 0


def test_an_agent_that_has_not_appeared_is_not_lost_while_the_daemon_is_gone(an_engine, run, tool):
    program, away = tool
    engine = an_engine(tool=str(program))
    record = record_of(
        engine._placements.of(run, layout.role_folder(str(engine._settings.records), run.id, 1))
    )
    record.mkdir(parents=True)
    placement = engine.placed(run)
    away.touch()
    observation = engine.observe([placement])[placement.name]
    assert observation.seen is Seen.WAITING
    assert "does not respond" in observation.reason


def test_without_a_tool_nothing_is_placed(an_engine, run):
    engine = an_engine(tool="no-such-tool")
    assert "install no-such-tool" in engine.capabilities.missing
    with pytest.raises(StageError, match="no container tool"):
        start(engine, run, ("true",), image=IMAGE)


def test_a_placement_of_another_machine_is_not_cancelled_here(engine, run):
    placement = start(engine, run, ("sleep", "60"), image=IMAGE)
    elsewhere = replace(placement, details={**placement.details, "host": "another"})
    engine.cancel(elsewhere)
    assert engine.observe([elsewhere]) == {}
    assert not (record_of(placement) / layout.CANCEL).exists()
    engine.cancel(placement)
    assert seen(engine, placement, Seen.ENDED).cause is Cause.CANCELLED


def test_a_timeout_ends_the_container(engine, run):
    placement = start(engine, run, ("sleep", "60"), image=IMAGE, measure=Measure(timeout_s=0.2))
    assert seen(engine, placement, Seen.ENDED).cause is Cause.TIMEOUT
    until(lambda: liveness.state(str(record_of(placement))) == liveness.DEAD, "the agent has ended")


def test_every_module_that_the_agent_imports_is_there_without_libraries_in_the_image(engine, run, podman):  # noqa: F811
    """Also modules that it imports late, for example to mask secrets."""
    start(engine, run, ("true",), image=IMAGE)
    agent = ContainerAgent(engine._settings.folder)
    volumes = [word for mount in agent.mounts for word in ("--volume", f"{mount.source}:{mount.target}:ro")]
    program, *words = container_agent.PYTHON
    code = (
        f"import importlib; [importlib.import_module(name) for name in {sorted(container_agent._imported())}]"
    )
    podman(
        "run", "--rm", "--network", "none", *volumes, "--entrypoint", program, IMAGE, *words, "-I", "-S", "-c", code
    )  # fmt: skip
    seen(engine, engine.placed(run), Seen.ENDED)
