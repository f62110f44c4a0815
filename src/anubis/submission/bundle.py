"""Descriptor -> Bundle: the roles that each strategy needs."""

import shlex
from dataclasses import replace

from anubis.describe.instances import find
from anubis.model.descriptor import Descriptor, Measure
from anubis.model.hardware import LOCAL, Distributed, Strategy
from anubis.model.launch import Bundle, Role
from anubis.model.server import Server
from anubis.record.layout import BENCHMARK

SERVER, WORKER = "server", "worker"
#: Workers of MPI wait for the launcher's connections; the same command as in Kubeflow's MPI operator.
MPI_WORKER = ("/usr/sbin/sshd", "-De")
#: The engine ends servers and MPI workers together with the measured role, never their own timeout.
_UNTIL_ENDED = Measure(timeout_s=365 * 86_400.0)
#: Strategies whose launcher starts processes on the workers.
MPI = {Strategy.MPI, Strategy.HOROVOD}


def bundle_of(descriptor: Descriptor, folder: str | None = None) -> Bundle:
    """What an engine has to start for this descriptor; ``folder`` is its working folder on this machine."""
    script = descriptor.ml.script
    return Bundle(roles=_roles(descriptor), folder=folder, script=script.script if script else None)


def _roles(descriptor: Descriptor) -> tuple[Role, ...]:
    """The last role is the benchmark: the client of a server, the launcher of MPI, or all ranks of the same command.

    The workers of MPI wait for the launcher, which starts the ranks on them. The servers of parameter servers run the
    command of the benchmark unless the descriptor has another one for them.
    """
    strategy = descriptor.hardware.strategy
    benchmark = _benchmark(descriptor)
    if strategy is Strategy.SINGLE_NODE:
        return (benchmark,)
    servers = (_server(descriptor.server),) if descriptor.server else ()
    if strategy is Strategy.INFERENCE:
        return (*servers, benchmark)
    distributed = descriptor.hardware.distributed or Distributed()
    per_instance = distributed.processes_per_instance
    processes = (benchmark.gpus or 1) if per_instance == "gpus" else int(per_instance)
    every = replace(benchmark, processes=processes, replicas=distributed.num_instances)
    if strategy in MPI:
        workers = replace(
            every, name=WORKER, command=MPI_WORKER, measure=_UNTIL_ENDED, metrics=(), is_service=True
        )
        return workers, replace(benchmark, processes=processes, gpus=None, cpus=None, memory_gb=None)
    if strategy is Strategy.PARAMETER_SERVER:
        alike = replace(benchmark, name=SERVER, measure=_UNTIL_ENDED, metrics=(), is_service=True)
        return (*(servers or (alike,)), every)
    return (every,)


def _benchmark(descriptor: Descriptor) -> Role:
    ml, env, hardware = descriptor.ml, descriptor.env, descriptor.hardware
    command, arguments = _command(ml.benchmark_code or "", ml.args)
    return Role(
        name=BENCHMARK,
        command=command,
        arguments=arguments,
        environment=dict(env.vars),
        image=env.docker_image,
        instance_type=hardware.instance_type,
        gpus=_gpus(hardware.gpus, hardware.instance_type),
        cpus=hardware.cpus,
        memory_gb=hardware.memory_gb,
        privileged=env.privileged,
        extended_shm=env.extended_shm,
        measure=descriptor.measure,
        metrics=descriptor.output.metrics,
    )


def _server(server: Server) -> Role:
    env, hardware = server.env, server.hardware
    command, arguments = _command(env.start_command, env.start_command_args)
    return Role(
        name=SERVER,
        command=command,
        arguments=arguments,
        environment=dict(env.vars),
        image=env.docker_image,
        ports=env.ports,
        readiness_probe=env.readiness_probe,
        liveness_probe=env.liveness_probe,
        instance_type=hardware.instance_type,
        gpus=_gpus(hardware.gpus, hardware.instance_type),
        cpus=hardware.cpus,
        memory_gb=hardware.memory_gb,
        privileged=env.privileged,
        extended_shm=env.extended_shm,
        measure=_UNTIL_ENDED,
        metrics=server.output.metrics,
        is_service=True,
    )


def _command(code: str, args: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The command with its arguments, or no command and the arguments of the image's entry point."""
    words = tuple(shlex.split(f"{code} {args}"))
    return (words, ()) if code.strip() else ((), words)


def _gpus(stated: int | None, instance_type: str) -> int | None:
    """GPUs as stated, else as the instance table says; None: not known."""
    instance = find(instance_type) if stated is None and instance_type != LOCAL else None
    return instance.gpus if instance else stated
