"""What engines start: for processes of this machine, for containers on it, and for machines elsewhere."""

import io
import json
import socket
import sys
from dataclasses import fields, replace

import pytest

from anubis.agent import options
from anubis.contracts.engine import Mounting
from anubis.contracts.environments import SubmittedEnvironment
from anubis.model.descriptor import Env, Measure, Ml, Script
from anubis.model.errors import NotFoundError
from anubis.model.hardware import Distributed, Hardware, Strategy
from anubis.model.launch import Mount
from anubis.model.metric import Metric, Output
from anubis.pipeline.launch import HOST_AGENT, launch_of
from anubis.submission.bundle import bundle_of
from anubis.submission.script_archive import archive
from anubis.testing import FakeObjects, a_descriptor, a_run
from support.servers import SERVER


@pytest.fixture
def host(tmp_path):
    """As an engine of processes on this machine has it."""
    return Mounting(agent=HOST_AGENT, records=f"{tmp_path}/records", scripts=f"{tmp_path}/scripts")


@pytest.fixture
def shared(host):
    """As an engine of containers on this machine has it."""
    zip_file = Mount(target="/anubis/agent.zip", source="/lib/agent.zip")
    return replace(host, agent=("python3", "/anubis/agent.zip"), inside="/anubis", mounts=(zip_file,))


REMOTE = Mounting(agent=("agent",), inside="/anubis", address="{role}-{rank}.{run}-{attempt}")


#: Variables of the only replica of a role.
ALONE = {"ANUBIS_RANK": "0", "ANUBIS_WORLD_SIZE": "1"}


def launch(mounting, objects=None, *, folder=None, environment=None, **changes):
    run = a_run(a_descriptor(**changes), folder=folder)
    return run, launched(run, mounting, objects, environment)


def launched(run, mounting, objects=None, environment=None):
    return launch_of(
        run,
        bundle_of(run.descriptor, run.folder),
        mounting,
        objects or FakeObjects(),
        environment=environment or SubmittedEnvironment(),
        digest=lambda text: f"digest of {text}",
    )


def one(mounting, objects=None, **more):
    """The run and its only replica."""
    run, started = launch(mounting, objects, **more)
    (replica,) = started.replicas
    return run, replica


def given(replica):
    """The agent's options."""
    path = replica.argv[replica.argv.index("--options") + 1]
    return json.loads(replica.files[path].content)


@pytest.fixture
def script(tmp_path):
    """An object store with a script archive, and its key."""
    (tmp_path / "train.py").write_text("print(1)")
    key, content = archive(tmp_path / "train.py")
    objects = FakeObjects()
    objects.put(key, io.BytesIO(content))
    return objects, key


def test_a_process_sees_the_paths_of_this_machine(host, tmp_path):
    run, replica = one(host, measure=Measure(repeats=3, warmups=1, timeout_s=9.0))
    record = f"{tmp_path}/records/{run.id}/a1/benchmark/0"
    assert replica.record == record
    assert replica.argv == (*HOST_AGENT, "exec", "--options", f"{record}/options.json", "--", "true")
    assert given(replica) == {
        "repeats": 3,
        "warmups": 1,
        "fixed_layout": False,
        "pin": "",
        "nice": 0,
        "drop_caches": False,
        "governor": "",
        "timeout_s": 9.0,
        "record": record,
        "run_id": run.id,
        "seed": int(run.id.replace("-", ""), 16) & 0x7FFFFFFF,
        "cwd": f"{record}/work",
    }
    assert replica.folders == (f"{record}/work",)
    assert replica.mounts == ()
    assert HOST_AGENT[0] == sys.executable


def test_every_option_can_be_read_by_the_agent(host):
    _, replica = one(host)
    assert given(replica).keys() <= options.NAMES


def test_the_agent_takes_these_fields_of_measure():
    """Those of the same name. A new field of [measure] for the agent is added to its options, and nowhere between."""
    shared = {field.name for field in fields(Measure)} & options.NAMES
    assert shared == {
        "repeats",
        "warmups",
        "timeout_s",
        "fixed_layout",
        "pin",
        "nice",
        "drop_caches",
        "governor",
    }


def test_a_container_sees_its_record_and_the_scripts_at_fixed_paths(shared, script, tmp_path):
    objects, key = script
    ml = Ml(benchmark_code="python x", script=Script(script=key))
    run, replica = one(shared, objects, env=Env(docker_image="image"), ml=ml, folder="/home/ada")
    source = f"{tmp_path}/records/{run.id}/a1/benchmark/0"
    assert replica.record == "/anubis/record"
    assert replica.mounts == (
        Mount(target="/anubis/record", source=source, read_only=False),
        Mount(target="/anubis/scripts", source=f"{tmp_path}/scripts/{key.removesuffix('.tar')}"),
        *shared.mounts,
    )
    assert replica.environment["BAI_SCRIPTS_PATH"] == "/anubis/scripts"
    assert given(replica)["cwd"] == "", "the image sets its working folder"
    assert replica.on_host("/anubis/record/options.json") == f"{source}/options.json"
    assert replica.on_host("/anubis/recorded") == "/anubis/recorded"
    assert (tmp_path / "scripts" / key.removesuffix(".tar") / "train.py").read_text() == "print(1)"


def test_elsewhere_the_engine_fetches_the_scripts(script):
    objects, key = script
    _, replica = one(REMOTE, objects, ml=Ml(benchmark_code="x", script=Script(script=key)))
    assert replica.mounts == (Mount(target="/anubis/scripts", archive=key),)
    assert given(replica)["cwd"] == "/anubis/scripts"


def test_a_process_works_where_it_was_submitted_else_in_its_scripts_else_in_its_record(host, script):
    objects, key = script
    with_scripts, without = Ml(benchmark_code="x", script=Script(script=key)), Ml(benchmark_code="x")
    assert given(one(host, objects, ml=with_scripts, folder="/here")[1])["cwd"] == "/here"
    _, replica = one(host, objects, ml=with_scripts)
    assert given(replica)["cwd"] == replica.environment["BAI_SCRIPTS_PATH"]
    _, replica = one(host, objects, ml=without)
    assert given(replica)["cwd"] == f"{replica.record}/work"


def test_a_missing_script_archive_is_not_ignored(host):
    with pytest.raises(NotFoundError):
        launch(host, ml=Ml(benchmark_code="x", script=Script(script="gone.tar")))


def test_declared_patterns_are_a_file_of_the_record(host):
    metrics = (Metric(name="loss", pattern="l=(.*)", units="1"), Metric(name="emitted"))
    _, replica = one(host, output=Output(metrics=metrics))
    content = replica.files[f"{replica.record}/patterns.json"].content
    assert json.loads(content) == {"loss": {"pattern": "l=(.*)", "units": "1"}}
    _, without = one(host, output=Output(metrics=metrics[1:]))
    assert not any(path.endswith("/patterns.json") for path in without.files)


def test_the_descriptor_may_set_what_is_not_decided_here(host):
    variables = {"BENCHMARK_AI": "stdout", "ANUBIS_RANK": "7", "BATCH": "32"}
    _, replica = one(host, env=Env(vars=variables))
    assert replica.environment == {**variables, **ALONE, "ANUBIS_ROLE": "benchmark"}


def test_the_benchmark_finds_its_server():
    hardware = Hardware(instance_type="local", strategy=Strategy.INFERENCE)
    run, started = launch(REMOTE, hardware=hardware, server=SERVER)
    server, benchmark = started.replicas
    assert server.address == f"server-0.{run.id}-1"
    assert server.environment == {"A": "1", **ALONE, "ANUBIS_ROLE": "server"}
    found = {key: value for key, value in benchmark.environment.items() if key.startswith("INFERENCE")}
    assert found == {
        "INFERENCE_SERVER_HOST": server.address,
        "INFERENCE_SERVER_PORT": "8080",
        "INFERENCE_SERVER_PORT_1": "8081",
    }
    assert server.role.readiness_probe is not None


def distributed(strategy, mounting=None, *, processes="2", **changes):
    hardware = Hardware(
        instance_type="local",
        strategy=strategy,
        distributed=Distributed(num_instances=3, processes_per_instance=processes),
    )
    _, started = launch(mounting or replace(REMOTE, address="{role}-{rank}"), hardware=hardware, **changes)
    return started


def test_torchrun_gets_ranks_over_all_machines_and_one_rendezvous():
    started = distributed(Strategy.TORCHRUN)
    assert [(each.role.name, each.rank) for each in started.replicas] == [
        ("benchmark", rank) for rank in range(3)
    ]
    assert [each.rank for each in started.in_order] == [1, 2, 0], "the measured replica starts last"
    for replica in started.replicas:
        variables = replica.environment
        assert variables["ANUBIS_WORLD_SIZE"] == variables["PET_NNODES"] == "3"
        assert variables["PET_NODE_RANK"] == variables["ANUBIS_RANK"] == str(replica.rank)
        assert variables["PET_NPROC_PER_NODE"] == "2"
        assert variables["MASTER_ADDR"] == variables["PET_MASTER_ADDR"] == "benchmark-0"
        assert variables["MASTER_PORT"] == variables["PET_MASTER_PORT"] == "29500"
        assert "RANK" not in variables, "torchrun numbers its processes"


def test_a_program_that_is_one_process_for_each_replica_needs_no_launcher():
    for replica in distributed(Strategy.TORCHRUN, processes="1").replicas:
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
        assert [replica.environment[name] for name in names] == [str(replica.rank), "3", "0", "1"]


def test_parameter_servers_and_workers_know_all_addresses():
    server, *workers = distributed(Strategy.PARAMETER_SERVER).replicas
    for replica, task in ((server, {"type": "ps", "index": 0}), (workers[1], {"type": "worker", "index": 1})):
        found = json.loads(replica.environment["TF_CONFIG"])
        addresses = [f"benchmark-{rank}:29500" for rank in range(3)]
        assert found == {"cluster": {"ps": ["server-0:29500"], "worker": addresses}, "task": task}
        assert replica.environment["PARAMETER_SERVER_HOST"] == "server-0"
        assert replica.environment["PARAMETER_SERVER_PORT"] == "29500"
        assert not any(name.startswith("PET_") for name in replica.environment)


def test_the_launcher_of_mpi_has_a_host_file():
    *workers, launcher = distributed(Strategy.MPI).replicas
    path = launcher.environment["OMPI_MCA_orte_default_hostfile"]
    hosts = "".join(f"worker-{rank} slots=2\n" for rank in range(3))
    assert launcher.files[path].content.decode() == hosts
    assert launcher.environment["ANUBIS_WORLD_SIZE"] == "1"
    assert [each.environment["ANUBIS_RANK"] for each in workers] == ["0", "1", "2"]
    assert all("MASTER_ADDR" not in each.environment for each in (*workers, launcher))
    assert not any(path.endswith("/hostfile") for each in workers for path in each.files)


@pytest.fixture
def machine(host):
    """As an engine has it that places all replicas of a run on one machine."""
    return replace(host, one_machine=True)


def test_on_one_machine_the_launcher_of_mpi_starts_the_agents_of_the_ranks(machine):
    (launcher,) = distributed(
        Strategy.MPI,
        machine,
        environment=SUBMITTED,
        output=Output(metrics=(Metric(name="a", pattern="(.)"),)),
    ).replicas
    programs = f"{launcher.record}/programs"
    assert launcher.environment["PATH"] == f"{programs}:/opt/bin"
    assert launcher.environment["OMPI_MCA_orte_fork_agent"] == "anubis-rank"
    assert launcher.environment["OMPI_MCA_oob_tcp_if_include"] == "127.0.0.0/8"
    assert launcher.files[f"{launcher.record}/hostfile"].content == b"localhost slots=6\n"
    program = launcher.files[f"{programs}/anubis-rank"]
    assert program.mode == 0o755
    assert f'{launcher.record.removesuffix("/benchmark/0")}/worker/"$rank"' in program.content.decode()
    given = json.loads(launcher.files[f"{launcher.record}/rank.json"].content)
    assert given.keys() <= options.NAMES
    assert (given["is_rank"], given["repeats"], given["warmups"]) == (True, 1, 0)
    assert given["patterns"] == f"{launcher.record}/patterns.json"


def test_on_one_machine_every_run_has_its_own_ports(machine):
    ports = {distributed(Strategy.TORCHRUN, machine).replicas[0].environment["MASTER_PORT"] for _ in range(4)}
    assert len(ports) > 1
    assert all(20_000 <= int(port) < 32_768 for port in ports)


@pytest.mark.parametrize("strategy", [Strategy.TORCHRUN, Strategy.MPI])
def test_on_one_machine_only_the_measured_replica_changes_the_machine(machine, strategy):
    measure = Measure(governor="performance", drop_caches=True)
    first, *others = distributed(strategy, machine, measure=measure).replicas
    assert (given(first)["governor"], given(first)["drop_caches"]) == ("performance", True)
    ranks = [json.loads(first.files[f"{first.record}/rank.json"].content)] if strategy is Strategy.MPI else []
    given_to_others = [*map(given, others), *ranks]
    assert given_to_others
    assert {(each["governor"], each["drop_caches"]) for each in given_to_others} == {("", False)}


def test_elsewhere_every_replica_changes_its_machine():
    measure = Measure(governor="performance", drop_caches=True)
    replicas = distributed(Strategy.TORCHRUN, measure=measure).replicas
    assert {(given(each)["governor"], given(each)["drop_caches"]) for each in replicas} == {
        ("performance", True)
    }


@pytest.fixture
def containers(shared):
    """As an engine has it that places all replicas of a run in containers of one machine."""
    return replace(shared, one_machine=True)


def mounts_of(replica):
    return {mount.target: (mount.source, mount.read_only) for mount in replica.mounts}


def test_containers_see_the_records_of_the_others_and_may_not_change_them(containers):
    first, second, _ = distributed(Strategy.TORCHRUN, containers).replicas
    attempt = second.on_host(second.record).removesuffix("/benchmark/1")
    mounts = mounts_of(second)
    assert mounts["/anubis/record"] == (f"{attempt}/benchmark/1", False)
    assert mounts["/anubis/records"] == (attempt, True)
    assert group(second)["until"] == "/anubis/records/benchmark/0"
    assert [peer["record"] for peer in group(first)["needs"]] == [
        "/anubis/records/benchmark/1",
        "/anubis/records/benchmark/2",
    ]
    assert "/anubis/records" not in mounts_of(one(containers)[1]), "a run of one replica has no others"


def test_a_launcher_of_mpi_in_a_container_writes_the_records_of_its_ranks(containers):
    (launcher,) = distributed(Strategy.MPI, containers, environment=SUBMITTED).replicas
    attempt = launcher.on_host(launcher.record).removesuffix("/benchmark/0")
    mounts = mounts_of(launcher)
    assert mounts["/anubis/records"] == (attempt, True)
    assert mounts["/anubis/records/worker"] == (f"{attempt}/worker", False)
    assert "/anubis/records/worker" in launcher.folders
    assert launcher.environment["OMPI_MCA_orte_fork_agent"] == "/anubis/record/programs/anubis-rank"
    assert "PATH" not in launcher.environment, "that of the image is kept"
    program = launcher.files["/anubis/record/programs/anubis-rank"].content.decode()
    assert '--record /anubis/records/worker/"$rank"' in program
    assert json.loads(launcher.files["/anubis/record/rank-group.json"].content)["until"] == "/anubis/record"


@pytest.mark.parametrize("strategy", [Strategy.TORCHRUN, Strategy.PARAMETER_SERVER])
def test_a_taken_port_leads_to_another_one(machine, strategy):
    hardware = Hardware(instance_type="local", strategy=strategy, distributed=Distributed(num_instances=2))
    run = a_run(a_descriptor(hardware=hardware))

    def ports_of(shares_ports):
        mounting = replace(machine, shares_ports=shares_ports)
        replicas = launched(run, mounting).replicas
        names = {Strategy.TORCHRUN: "MASTER_PORT", Strategy.PARAMETER_SERVER: "PARAMETER_SERVER_PORT"}
        return {int(each.environment[names[strategy]]) for each in replicas}

    (derived,) = ports_of(False)
    with socket.create_server(("127.0.0.1", derived)):
        assert ports_of(False) == {derived}
        (other,) = ports_of(True)
        assert other != derived


def group(replica):
    return json.loads(replica.files[given(replica)["group"]].content)


def test_on_one_machine_the_measured_replica_watches_the_others_and_they_watch_it(machine):
    first, second, third = distributed(Strategy.TORCHRUN, machine).replicas
    assert [peer["name"] for peer in group(first)["needs"]] == ["benchmark 1", "benchmark 2"]
    assert group(first)["until"] == ""
    assert group(second)["until"] == first.record
    assert group(second)["needs"] == []
    assert group(second)["in_step"] == [first.record, third.record]


def test_the_server_runs_its_probes(machine):
    hardware = Hardware(instance_type="local", strategy=Strategy.INFERENCE)
    _, started = launch(machine, hardware=hardware, server=SERVER)
    server, benchmark = started.replicas
    assert group(server)["readiness"]["path"] == group(server)["liveness"]["path"] == "/ping"
    assert group(server)["readiness"]["port"] == 8080
    assert group(server)["in_step"] == []
    (peer,) = group(benchmark)["needs"]
    assert (peer["name"], peer["is_service"], peer["ready_within_s"]) == ("server 0", True, 600.0)


def test_a_run_of_one_replica_has_no_others(machine):
    _, replica = one(machine)
    assert "group" not in given(replica)


def test_an_engine_without_containers_must_share_its_folders():
    with pytest.raises(ValueError, match="folders of records and scripts"):
        Mounting(agent=("agent",), records="/records")


SUBMITTED = SubmittedEnvironment(
    variables={"PATH": "/opt/bin", "COLOUR": "red", "HF_TOKEN": "hf-0123456789"},
    secrets={"DEPLOY": "correct-horse"},
)


def test_processes_of_this_machine_inherit_and_containers_do_not(host, shared):
    env = Env(vars={"COLOUR": "blue"})
    _, process = one(host, environment=SUBMITTED, env=env)
    assert (process.environment["PATH"], process.environment["COLOUR"]) == ("/opt/bin", "blue")
    _, container = one(shared, environment=SUBMITTED, env=env)
    assert "PATH" not in container.environment
    assert container.environment["COLOUR"] == "blue"


def test_a_secret_is_only_in_the_environment(host):
    env = Env(vars={"PASSWORD": "secret:DEPLOY", "PLAIN": "1"}, inherit=("HF_TOKEN",))
    _, replica = one(host, environment=SUBMITTED, env=env)
    assert replica.environment["PASSWORD"] == "correct-horse"
    assert given(replica)["masked"] == "HF_TOKEN PASSWORD"
    files = b"".join(file.content for file in replica.files.values()).decode()
    for secret in ("correct-horse", "hf-0123456789"):
        assert secret not in f"{replica.argv}{files}{replica!r}"
    recorded = json.loads(replica.files[f"{replica.record}/environment.json"].content)
    assert recorded == {
        "version": 1,
        "values": {"PATH": "/opt/bin"},
        "digests": {"COLOUR": "digest of red"},
        "secrets": ["HF_TOKEN", "PASSWORD"],
        "key": "digest of key",
    }


def test_a_container_inherits_only_the_variables_that_the_descriptor_names(shared):
    submitted = SubmittedEnvironment(variables={"HF_TOKEN": "a-secret-value", "LANG": "C"})
    _, replica = one(shared, environment=submitted, env=Env(inherit=("HF_TOKEN",)))
    assert replica.environment["HF_TOKEN"] == "a-secret-value"
    assert "LANG" not in replica.environment
    assert given(replica)["masked"] == "HF_TOKEN"


def test_an_engine_may_replace_the_command_and_add_options(shared):
    _, replica = one(shared, ml=Ml(benchmark_code="train --x"))
    changed = replica.with_options("--gpus", "none").with_command("entry", "--", "word")
    at = changed.argv.index("--")
    assert changed.argv[at - 2 :] == ("--gpus", "none", "--", "entry", "--", "word")
