"""The server half of an inference benchmark."""

from dataclasses import dataclass, field

from anubis.model.data import DataSource
from anubis.model.metric import Output


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """An HTTP question that tells whether the server is ready, or alive."""

    path: str
    #: None: the server's first port.
    port: int | None = None
    #: "http" or "https".
    scheme: str = "http"
    initial_delay_seconds: int = 10
    period_seconds: int = 10
    timeout_seconds: int = 1
    success_threshold: int = 1
    failure_threshold: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerHardware:
    """The machine of the server; its zone is always the client's."""

    instance_type: str
    gpus: int | None = None
    cpus: float | None = None
    memory_gb: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEnv:
    """What the server runs in."""

    docker_image: str
    ports: tuple[int, ...]
    #: Command in exec form; empty: the image's own entry point.
    start_command: str
    start_command_args: str = ""
    privileged: bool = False
    extended_shm: bool = True
    vars: dict[str, str] = field(default_factory=dict)
    readiness_probe: Probe | None = None
    liveness_probe: Probe | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Role ``server``: started first, asked for readiness, ended with the benchmark."""

    hardware: ServerHardware
    env: ServerEnv
    models: tuple[DataSource, ...] = ()
    output: Output = field(default_factory=Output)
