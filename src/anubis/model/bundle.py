"""What a run needs from an engine: its roles, each with command, image, resources and replicas."""

from dataclasses import dataclass, field

from anubis.model.descriptor import Measure
from anubis.model.metric import Metric
from anubis.model.server import Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One kind of process in a bundle."""

    #: benchmark, server, launcher, worker.
    name: str
    #: Exec form; empty: the image's entry point.
    command: tuple[str, ...]
    #: Variables of the descriptor.
    environment: dict[str, str] = field(default_factory=dict)
    #: None: the programs of the machine.
    image: str | None = None
    #: Ports that the role listens on.
    ports: tuple[int, ...] = ()
    #: The next role starts once this is answered; None: at once.
    readiness_probe: Probe | None = None
    #: The run ends once this is no longer answered; None: never asked.
    liveness_probe: Probe | None = None
    #: Machines or containers of this role.
    replicas: int = 1
    #: Processes of the benchmark in each replica.
    processes: int = 1
    #: Type of the machine, in the engine's words.
    instance_type: str = ""
    #: Limits of each replica; None: no limit.
    gpus: int | None = None
    cpus: float | None = None
    memory_gb: float | None = None
    privileged: bool = False
    #: As much shared memory as the machine has.
    extended_shm: bool = True
    #: How the agent measures the command.
    measure: Measure = field(default_factory=Measure)
    #: Metrics to read from the output.
    metrics: tuple[Metric, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """All roles of a run."""

    #: In the order in which they start. The last one is measured: its record has the run's exit code and points.
    roles: tuple[Role, ...]
    #: Working folder on the submitting machine, for roles without an image; None: a folder of the run's own.
    folder: str | None = None
    #: Object key of the script archive; None: no scripts.
    script: str | None = None
