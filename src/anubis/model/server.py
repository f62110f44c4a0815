"""The server of an inference benchmark, and the data that benchmarks and servers need."""

from dataclasses import dataclass, field
from enum import StrEnum

from anubis.model.metric import Output


class Compare(StrEnum):
    """What of a dataset must be equal for two runs to be comparable."""

    ADDRESS = "address"
    CONTENT = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """One dataset or model to fetch before the benchmark starts."""

    #: Address; its scheme chooses the source (s3, http, https, ftp, ftps, file, openml).
    src: str
    #: Absolute path at which the benchmark finds the bytes.
    path: str
    #: Channel name (SageMaker); default: derived from the position.
    id: str | None = None
    #: `md5:<32 hex>` or `sha256:<64 hex>`; default: not verified.
    digest: str | None = None
    #: Extract an archive after fetching it.
    unpack: bool = False
    #: `address`: runs with this source are comparable whatever it contains; `content`: only runs that read the same bytes.
    compare: Compare = Compare.ADDRESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A check whether the server is ready, or alive: a command, an HTTP request, or else a connection to its port."""

    #: Path of an HTTP request; a status from 200 to 399 is a success.
    path: str | None = None
    #: Command in exec form that runs beside the server; exit code 0 is a success.
    command: str | None = None
    #: Port; default: the first port of the server.
    port: int | None = None
    #: `http` or `https`.
    scheme: str = "http"
    #: Delay before the first request.
    initial_delay_seconds: int = 10
    #: Interval between requests.
    period_seconds: int = 10
    #: Timeout of a request.
    timeout_seconds: int = 1
    #: Number of consecutive successful responses after which the server is marked healthy.
    success_threshold: int = 1
    #: Number of consecutive failed responses after which the server is marked unhealthy.
    failure_threshold: int = 3
    #: Longest wait of the readiness probe for the server; after it the run ends with cause `server_not_ready`.
    max_wait_seconds: int = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHardware:
    """The machine of the server; it always runs in the zone of the client."""

    #: EC2 name, `local` on this machine, a node label elsewhere.
    instance_type: str
    #: Number of GPUs; default: from the instance table.
    gpus: int | None = None
    #: Number of cores; default: from the instance table, else no limit.
    cpus: float | None = None
    #: Memory in GiB; default: from the instance table, else no limit.
    memory_gb: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEnv:
    """The environment of the server."""

    #: Image to run in; resolved to a digest and recorded.
    docker_image: str
    #: Ports the server listens on; the first is `INFERENCE_SERVER_PORT`.
    ports: tuple[int, ...]
    #: Command in exec form; empty: the entry point of the image.
    start_command: str
    #: Further arguments of the command.
    start_command_args: str = ""
    #: Run with all privileges of the machine; needs the permission of the operator.
    privileged: bool = False
    #: Give the container the shared memory size of the machine.
    extended_shm: bool = True
    #: Environment variables.
    vars: dict[str, str] = field(default_factory=dict)
    #: The benchmark starts after this probe succeeds.
    readiness_probe: Probe | None = None
    #: The run ends when this probe fails.
    liveness_probe: Probe | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Role ``server`` of inference and of parameter servers: started before the benchmark, stopped with it."""

    #: The machine of the server; it runs in the zone of the client.
    hardware: ServerHardware
    #: The environment of the server.
    env: ServerEnv
    #: Models to fetch before the server starts.
    models: tuple[DataSource, ...] = ()
    #: The metrics to read from the server.
    output: Output = field(default_factory=Output)
