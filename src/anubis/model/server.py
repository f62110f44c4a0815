"""The server half of an inference benchmark, and the data that benchmarks and servers need."""

from dataclasses import dataclass, field

from anubis.model.metric import Output


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """One dataset or model to fetch before the benchmark starts."""

    #: Address; its scheme chooses the source (s3, http, https, ftp, ftps, file, openml).
    src: str
    #: Absolute path at which the benchmark finds the bytes.
    path: str
    #: Channel name (SageMaker); left out: made from the position.
    id: str | None = None
    #: `md5:<32 hex>` or `sha256:<64 hex>`; left out: not verified.
    digest: str | None = None
    #: Extract an archive after fetching it.
    unpack: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """An HTTP question that tells whether the server is ready, or alive."""

    #: Path of the question.
    path: str
    #: Port; left out: the server's first one.
    port: int | None = None
    #: `http` or `https`.
    scheme: str = "http"
    #: Before the first question.
    initial_delay_seconds: int = 10
    #: Between questions.
    period_seconds: int = 10
    #: For an answer.
    timeout_seconds: int = 1
    #: Good answers in a row after which the server counts as well.
    success_threshold: int = 1
    #: Bad answers in a row after which it counts as ill.
    failure_threshold: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHardware:
    """The machine of the server; its zone is always the client's."""

    #: EC2 name, `local` on this machine, a node label elsewhere.
    instance_type: str
    #: GPUs; left out: what the instance table says.
    gpus: int | None = None
    #: Cores; left out: what the instance table says, or no limit.
    cpus: float | None = None
    #: Memory in GiB; left out: what the instance table says, or no limit.
    memory_gb: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEnv:
    """What the server runs in."""

    #: Image to run in; resolved to a digest and recorded.
    docker_image: str
    #: Ports the server listens on; the first is `INFERENCE_SERVER_PORT`.
    ports: tuple[int, ...]
    #: Command in exec form; empty: the image's own entry point.
    start_command: str
    #: Further words of the command.
    start_command_args: str = ""
    #: Run with all rights of the machine; needs the operator's permission.
    privileged: bool = False
    #: Give the container as much shared memory as the machine has.
    extended_shm: bool = True
    #: Environment variables.
    vars: dict[str, str] = field(default_factory=dict)
    #: The benchmark starts once this is answered well.
    readiness_probe: Probe | None = None
    #: The run ends once this is no longer answered well.
    liveness_probe: Probe | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Role ``server``: started first, asked for readiness, ended with the benchmark."""

    #: The machine of the server; its zone is the client's.
    hardware: ServerHardware
    #: What the server runs in.
    env: ServerEnv
    #: Models to fetch before.
    models: tuple[DataSource, ...] = ()
    #: What to read from the server.
    output: Output = field(default_factory=Output)
