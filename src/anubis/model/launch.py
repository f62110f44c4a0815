"""What a run needs from an engine (Bundle), and what the engine starts for it (Launch)."""

from dataclasses import dataclass, field, replace

from anubis.model.access.roles import EVERYTHING
from anubis.model.descriptor import Measure
from anubis.model.metric import Metric
from anubis.model.server import Probe
from anubis.record.layout import BENCHMARK, FIRST_RANK


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """One kind of process in a bundle."""

    #: benchmark, server, worker.
    name: str
    #: Exec form; empty: the image's entry point.
    command: tuple[str, ...]
    #: Arguments of the image's entry point instead of those in the image; only without a command.
    arguments: tuple[str, ...] = ()
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
    #: It serves the measured replica: it runs until that has ended, and its own end before is a failure. Replicas of
    #: other roles begin each execution together.
    is_service: bool = False
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

    #: In the order in which they start. Rank 0 of the last one is measured: its record has the run's exit code and cause.
    roles: tuple[Role, ...]
    #: Working folder on the submitting machine, for roles without an image; None: a folder of the run's own.
    folder: str | None = None
    #: Object key of the script archive; None: no scripts.
    script: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """Something that appears at a path inside a container."""

    #: Absolute path inside.
    target: str
    #: File or folder of this machine; None: the engine brings the object's content there.
    source: str | None = None
    #: Object key of an archive whose content belongs at the target; None: ``source`` is mounted.
    archive: str | None = None
    read_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFile:
    """A file that must be there before the agent starts."""

    content: bytes
    #: Permission bits.
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One replica of one role. Every path is one that its processes see."""

    role: Role
    #: Number within the role, from 0.
    rank: int
    #: The agent's command line, the benchmark's command at its end.
    argv: tuple[str, ...]
    #: All variables of its processes, without containers; in a container, in addition to those of the image. Some are
    #: secrets: they must not appear in command lines or logs.
    environment: dict[str, str] = field(repr=False)
    #: Folder of the record. The engine creates it.
    record: str
    #: Host name for other replicas.
    address: str
    #: Folders to create, in addition to the record.
    folders: tuple[str, ...] = ()
    #: Path -> file.
    files: dict[str, LaunchFile] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()

    def with_options(self, *words: str) -> "Replica":
        """The replica with further options of its agent."""
        if not words:
            return self
        at = self.argv.index("--")
        return replace(self, argv=(*self.argv[:at], *words, *self.argv[at:]))

    def with_command(self, *words: str) -> "Replica":
        """The replica with this command of the benchmark."""
        return replace(self, argv=(*self.argv[: self.argv.index("--") + 1], *words))

    def on_host(self, path: str) -> str:
        """The path on this machine of a path that the processes see. The longest matching mount decides."""
        for mount in sorted(self.mounts, key=lambda mount: len(mount.target), reverse=True):
            if mount.source is not None and f"{path}/".startswith(f"{mount.target}/"):
                return mount.source + path[len(mount.target) :]
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """What a machine that prepares its own launch gets from the submitter: only what the descriptor names."""

    #: The variables in ``env.inherit``.
    variables: dict[str, str] = field(default_factory=dict, repr=False)
    #: Name of a secret -> its value.
    secrets: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Everything that one attempt of a run starts."""

    #: In the order of roles and ranks.
    replicas: tuple[Replica, ...]
    #: The role whose ranks the measured replica starts, as ``mpirun`` does; None: the engine starts all.
    launched: Role | None = None
    #: Most runs of its family that execute at the same time, for engines with a queue; 0: no limit.
    at_once: int = 0
    #: What the project of the run permits.
    permits: tuple[str, ...] = EVERYTHING
    #: For engines whose machines prepare their launch themselves; then there are no replicas.
    handover: Handover = field(default_factory=Handover)

    @property
    def measured(self) -> Replica:
        """The replica whose record has the exit code and the cause of the run."""
        return next(each for each in self.replicas if each.role.name == BENCHMARK and each.rank == FIRST_RANK)

    @property
    def others(self) -> tuple[Replica, ...]:
        """All replicas except the measured one."""
        return tuple(each for each in self.replicas if each is not self.measured)

    @property
    def in_order(self) -> tuple[Replica, ...]:
        """The replicas in the order in which processes start; containers share the network of the measured one."""
        return (*self.others, self.measured)
