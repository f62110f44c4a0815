"""The machine that a benchmark requests."""

from dataclasses import dataclass
from enum import StrEnum

#: The instance type that means the machine on which Anubis runs.
LOCAL = "local"


class Strategy(StrEnum):
    """How a benchmark is distributed over processes and machines."""

    SINGLE_NODE = "single_node"
    HOROVOD = "horovod"
    MPI = "mpi"
    TORCHRUN = "torchrun"
    INFERENCE = "inference"
    PARAMETER_SERVER = "parameter_server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Distributed:
    """Number of machines and of processes on each."""

    #: Number of machines.
    num_instances: int = 2
    #: Processes on each machine: a number, or "gpus" for one on each GPU.
    processes_per_instance: str = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The requested machine. With the engine ``process`` the instance type is only recorded."""

    #: EC2 name, `local` on this machine, a node label elsewhere.
    instance_type: str
    #: How the benchmark is distributed over processes and machines.
    strategy: Strategy = Strategy.SINGLE_NODE
    #: Number of GPUs; default: from the instance table.
    gpus: int | None = None
    #: Number of cores; default: from the instance table, else no limit.
    cpus: float | None = None
    #: Memory in GiB; default: from the instance table, else no limit.
    memory_gb: float | None = None
    #: Name of the zone. Client and server always run in the same zone.
    availability_zone: str | None = None
    #: Id of the zone; must match the name if both are given.
    aws_zone_id: str | None = None
    #: Maximum wait for a machine; after it the run ends with cause `no_capacity`. Default: no limit.
    max_wait_s: float | None = None
    #: Maximum cost; a run above it is refused or stopped. Default: no limit.
    max_cost: str | None = None
    #: Machines and processes, for strategies that use several.
    distributed: Distributed | None = None
