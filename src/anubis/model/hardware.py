"""The machine that a benchmark requests, and what machines cost."""

from collections.abc import Iterable
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An amount of money, or that the amount is unknown. An unknown cost is not zero."""

    #: None: unknown.
    amount: float | None
    #: Three letters, such as USD; empty if the amount is unknown.
    currency: str = ""

    def plus(self, other: "Cost") -> "Cost":
        """The sum; unknown if either is unknown, or the currencies differ."""
        if self.amount is None or other.amount is None or self.currency != other.currency:
            return UNKNOWN
        return Cost(amount=self.amount + other.amount, currency=self.currency)


UNKNOWN = Cost(amount=None)


def parsed(text: str) -> Cost:
    """The amount of a limit such as ``25 USD``."""
    return Cost(amount=float(text[:-3]), currency=text[-3:])


def total(costs: Iterable[Cost | None]) -> tuple[Cost | None, int]:
    """The sum of the known costs, and the number of unknown ones; None: no cost is known.

    Costs in another currency than the first one count as unknown.
    """
    found: Cost | None = None
    unknown = 0
    for cost in costs:
        if cost is None:
            continue
        both = cost if found is None else found.plus(cost)
        if both.amount is None:
            unknown += 1
        else:
            found = both
    return found, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of machines per hour."""

    #: Three letters, such as USD.
    currency: str = ""
    #: By ``hardware.instance_type``.
    machines: dict[str, float] = field(default_factory=dict)
    #: By the name of the machine; before that of its type.
    hosts: dict[str, float] = field(default_factory=dict)

    def per_hour(self, instance_type: str, host: str = "") -> float | None:
        """The price of one machine; None: unknown."""
        return self.hosts.get(host, self.machines.get(instance_type))


NO_PRICES = Prices()
