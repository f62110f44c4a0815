"""The descriptor: what to weigh. One type for every file version; ``describe`` reads TOML into it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from anubis.model.data import DataSource
from anubis.model.hardware import Hardware
from anubis.model.metric import Output
from anubis.model.server import Server

SINGLE_RUN = "single_run"
DEFAULT_ENGINE = "default"


class Overlap(StrEnum):
    """What a due schedule does while its last run still runs."""

    SKIP = "skip"
    QUEUE = "queue"
    REPLACE = "replace"


class Isolate(StrEnum):
    """What is new for every repeat."""

    PROCESS = "process"
    PLACE = "place"


class OnContamination(StrEnum):
    """What happens to repeats during which the machine was disturbed."""

    VOID = "void"
    KEEP = "keep"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """Name, labels and schedule."""

    name: str
    description: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    #: Five-field cron expression, ``@daily`` and its like, or ``single_run``.
    scheduling: str = SINGLE_RUN
    #: IANA name of the zone in which the schedule is read.
    timezone: str = "UTC"
    overlap: Overlap = Overlap.SKIP
    #: Name of an engine; ``default``: the one the installation prefers.
    execution_engine: str = DEFAULT_ENGINE
    #: Larger goes first among runs that wait.
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is under test: what may differ between two points of one series."""

    repository: str | None = None
    #: Commit id; ``auto`` in a file becomes the commit of the working tree, with ``-dirty`` when it was changed.
    commit: str | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Env:
    """What the benchmark runs in."""

    #: None only where the engine uses no image.
    docker_image: str | None = None
    privileged: bool = False
    extended_shm: bool = True
    vars: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The user's code, as an archive in the object store."""

    #: ``<sha256>.tar``.
    script: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ml:
    """What to execute."""

    #: Command in exec form (split as a shell splits words, run without a shell); None: the image's entry point.
    benchmark_code: str | None = None
    args: str = ""
    framework: str = ""
    framework_version: str | None = None
    script: Script | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    sources: tuple[DataSource, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How it is weighed."""

    #: Measured executions in the same placement.
    repeats: int = 1
    #: Executions before them that are recorded but not judged.
    warmups: int = 0
    #: Wall clock of one execution; then the whole process tree is ended with cause ``timeout``.
    timeout_s: float = 86_400.0
    isolate: Isolate = Isolate.PROCESS
    on_contamination: OnContamination = OnContamination.KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A sweep: the cross product of the axes, without the excluded cells."""

    #: Dotted descriptor path -> the values it takes.
    axes: dict[str, tuple[Any, ...]]
    #: A cell is left out when every path of one entry has that entry's value.
    exclude: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Who hears of what."""

    #: ``mailto:...``, ``slack:#channel``, ``https://...``, ``github:check``.
    to: str
    on: tuple[str, ...] = ("regression", "failure", "recovery")
    #: Re-runs before telling anyone; None: the service's default.
    confirm_runs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomParams:
    """What only one engine understands (SageMaker, CloudWatch dashboards)."""

    python_version: str | None = None
    sagemaker_job_name: str | None = None
    region: str | None = None
    dashboard: str | None = None
    merge: bool = False
    hyper_params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """One benchmark, completely. ``matrix`` is None in every descriptor that belongs to a run."""

    info: Info
    hardware: Hardware
    spec_version: str = "1.0"
    subject: Subject = field(default_factory=Subject)
    env: Env = field(default_factory=Env)
    ml: Ml = field(default_factory=Ml)
    data: Data = field(default_factory=Data)
    measure: Measure = field(default_factory=Measure)
    output: Output = field(default_factory=Output)
    server: Server | None = None
    matrix: Matrix | None = None
    notify: tuple[Notify, ...] = ()
    custom_params: CustomParams | None = None
