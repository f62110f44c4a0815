"""Where a benchmark wants to run."""

from dataclasses import dataclass
from enum import StrEnum


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

    num_instances: int = 2
    #: Digits, or "gpus": one process for each GPU of the instance.
    processes_per_instance: str = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The machine asked for. On this machine (engine ``process``) the instance type is only recorded."""

    #: EC2 API name, "local", or a node label elsewhere.
    instance_type: str
    strategy: Strategy = Strategy.SINGLE_NODE
    #: GPUs; None: from the instance table.
    gpus: int | None = None
    #: Cores; None: from the instance table, or unlimited.
    cpus: float | None = None
    #: Memory in GiB; None: from the instance table, or unlimited.
    memory_gb: float | None = None
    #: Zone name (us-east-1a).
    availability_zone: str | None = None
    #: Zone id (use1-az2); must agree with the name when both are given.
    aws_zone_id: str | None = None
    #: Longest wait for a machine; then the run ends with cause ``no_capacity``. None: for as long as it takes.
    max_wait_s: float | None = None
    #: "25 USD": refuse, or stop cleanly, above this. None: no limit.
    max_cost: str | None = None
    distributed: Distributed | None = None
