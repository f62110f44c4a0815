"""What a run needs from Slurm, as options of sbatch: runs with the same options can share one array."""

import math
from dataclasses import dataclass

from anubis.model.descriptor import Measure
from anubis.model.hardware import LOCAL
from anubis.model.launch import Role

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


def options_of(role: Role, defaults: Defaults) -> tuple[str, ...]:
    """Options of sbatch for a run of this role."""
    label = "" if role.instance_type in {"", LOCAL} else role.instance_type
    named = {
        "partition": defaults.partition,
        "account": defaults.account,
        "qos": defaults.qos,
        "constraint": "&".join(filter(None, (defaults.constraint, label))),
        "ntasks": "1",
        "cpus-per-task": str(math.ceil(role.cpus)) if role.cpus else "",
        "mem": f"{math.ceil(role.memory_gb * 1024)}M" if role.memory_gb else "",
        "gres": ":".join(filter(None, ("gpu", defaults.gpu_type, str(role.gpus)))) if role.gpus else "",
        "time": _minutes(role.measure, defaults.time_limit_s),
    }
    return (
        "--no-requeue",
        *(f"--{name}={value}" for name, value in named.items() if value),
        *defaults.options,
    )


def _minutes(measure: Measure, longest_s: float) -> str:
    """The time limit of a run; empty: that of the partition, if neither descriptor nor operator limit the time."""
    if measure.timeout_s >= Measure().timeout_s and not longest_s:
        return ""
    needed_s = (measure.timeout_s + _GRACE_S) * measure.most_executions + _MARGIN_S
    return str(math.ceil((min(needed_s, longest_s) if longest_s else needed_s) / 60))
