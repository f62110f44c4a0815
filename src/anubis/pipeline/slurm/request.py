"""What a run needs from Slurm, as options of sbatch: runs with the same options can share one array."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from anubis.model.cause import Cause
from anubis.model.descriptor import Measure
from anubis.model.errors import StageError
from anubis.model.hardware import LOCAL
from anubis.model.launch import Launch, Role
from anubis.pipeline.slurm.script import nodes_of

#: Added to the time that the executions of a run may take: for set-up lines and for reading the output.
_MARGIN_S = 300.0
#: Time that the agent leaves the benchmark to end after its timeout.
_GRACE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """What an operator sets for all runs; empty: as the cluster does."""

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    #: Type of the GPUs.
    gpu_type: str = ""
    #: Longest time limit to request, seconds; 0: no limit is requested for a run without timeout.
    time_limit_s: float = 0.0
    #: Further options of sbatch.
    options: tuple[str, ...] = ()


def options_of(launch: Launch, defaults: Defaults) -> tuple[str, ...]:
    """Options of sbatch for a run: every node has what the largest of its roles needs. Raises StageError."""
    measured, launched = launch.measured.role, launch.launched
    roles = [launched] if launched else [replica.role for replica in launch.replicas]
    nodes = nodes_of(launch)
    per_node = launched.processes if launched else 1
    cpus, memory_gb, gpus = (
        max((getattr(role, name) or 0 for role in roles), default=0) for name in ("cpus", "memory_gb", "gpus")
    )
    named = {
        "partition": defaults.partition,
        "account": defaults.account,
        "qos": defaults.qos,
        "constraint": "&".join(filter(None, (defaults.constraint, _label(roles)))),
        "nodes": str(nodes) if nodes * per_node > 1 else "",
        "ntasks": str(nodes * per_node),
        "ntasks-per-node": str(per_node) if nodes * per_node > 1 else "",
        "cpus-per-task": str(math.ceil(cpus / per_node)) if cpus else "",
        "mem": f"{math.ceil(memory_gb * 1024)}M" if memory_gb else "",
        "gres": ":".join(filter(None, ("gpu", defaults.gpu_type, str(gpus)))) if gpus else "",
        "time": _minutes(measured.measure, defaults.time_limit_s),
    }
    return (
        "--no-requeue",
        *(f"--{name}={value}" for name, value in named.items() if value),
        *defaults.options,
    )


def _label(roles: Sequence[Role]) -> str:
    """The feature that the nodes must have; empty: any node."""
    labels = {role.instance_type for role in roles} - {"", LOCAL}
    if len(labels) > 1:
        raise StageError(
            f"the replicas request nodes of several types: {', '.join(sorted(labels))}",
            cause=Cause.USER_ERROR,
            remedy="on Slurm, state the same instance_type in [hardware] and [server.hardware]",
        )
    return next(iter(labels), "")


def _minutes(measure: Measure, longest_s: float) -> str:
    """The time limit of a run; empty: that of the partition, if neither descriptor nor operator limit the time."""
    if measure.timeout_s >= Measure().timeout_s and not longest_s:
        return ""
    needed_s = (measure.timeout_s + _GRACE_S) * measure.most_executions + _MARGIN_S
    return str(math.ceil((min(needed_s, longest_s) if longest_s else needed_s) / 60))
