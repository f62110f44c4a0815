"""Where a benchmark wants to run."""

from dataclasses import dataclass
from enum import StrEnum

#: The instance type of the machine that runs Anubis.
LOCAL = "local"


class Strategy(StrEnum):
    """How a benchmark spreads over processes and machines."""

    SINGLE_NODE = "single_node"
    HOROVOD = "horovod"
    MPI = "mpi"
    TORCHRUN = "torchrun"
    INFERENCE = "inference"
    PARAMETER_SERVER = "parameter_server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distributed:
    """How many machines, and processes on each."""

    #: Machines.
    num_instances: int = 2
    #: Processes on each machine: a number, or "gpus" for one on each GPU.
    processes_per_instance: str = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The machine asked for. On this machine (engine ``process``) the instance type is only recorded."""

    #: EC2 name, `local` on this machine, a node label elsewhere.
    instance_type: str
    #: How the benchmark spreads over processes and machines.
    strategy: Strategy = Strategy.SINGLE_NODE
    #: GPUs; left out: what the instance table says.
    gpus: int | None = None
    #: Cores; left out: what the instance table says, or no limit.
    cpus: float | None = None
    #: Memory in GiB; left out: what the instance table says, or no limit.
    memory_gb: float | None = None
    #: Zone by its name. Client and server always share one zone.
    availability_zone: str | None = None
    #: Zone by its id; must agree with the name when both are given.
    aws_zone_id: str | None = None
    #: Longest wait for a machine; then the run ends with cause `no_capacity`. Left out: for as long as it takes.
    max_wait_s: float | None = None
    #: Refuse, or stop cleanly, above this. Left out: no limit.
    max_cost: str | None = None
    #: Machines and processes of the strategies that use several.
    distributed: Distributed | None = None
