"""The descriptor: what to weigh. One type for every file version; ``describe`` reads TOML into it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from anubis.model.hardware import Hardware
from anubis.model.metric import Output
from anubis.model.server import DataSource, Server

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

    #: What the benchmark is called, in the grammar of labels. Runs of one name belong to one history.
    name: str
    #: Free text for people.
    description: str = ""
    #: Words to file and find runs by. Some names belong to the system.
    labels: dict[str, str] = field(default_factory=dict)
    #: Five-field cron expression, ``@daily`` and its like, or ``single_run``.
    scheduling: str = SINGLE_RUN
    #: IANA name of the zone in which the schedule is read.
    timezone: str = "UTC"
    #: What a due schedule does while its last run still runs: leave out, wait, or end the old run.
    overlap: Overlap = Overlap.SKIP
    #: Name of an engine; ``default``: the one the installation prefers.
    execution_engine: str = DEFAULT_ENGINE
    #: Larger goes first among runs that wait.
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is under test: what may differ between two points of one series."""

    #: Where the code comes from.
    repository: str | None = None
    #: Commit id; ``auto`` in a file becomes the commit of the working tree, with ``-dirty`` when it was changed.
    commit: str | None = None
    #: Version in the words of its makers.
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Env:
    """What the benchmark runs in."""

    #: Image to run in; resolved to a digest and recorded. Not needed on engines that use no image.
    docker_image: str | None = None
    #: Run with all rights of the machine; needs the operator's permission.
    privileged: bool = False
    #: Give the container as much shared memory as the machine has.
    extended_shm: bool = True
    #: Environment variables.
    vars: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The user's code, as an archive in the object store."""

    #: ``<sha256>.tar``.
    script: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ml:
    """What to execute."""

    #: Command in exec form (split as a shell splits words, run without a shell; `${NAME}` and `$(NAME)` are filled in).
    #: Left out: the image's entry point.
    benchmark_code: str | None = None
    #: Further words of the command, or of the image's entry point.
    args: str = ""
    #: Name of the framework, for engines that bring it along and for people.
    framework: str = ""
    #: Its version.
    framework_version: str | None = None
    #: The user's code; written by `--script`.
    script: Script | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """What to fetch before the benchmark starts."""

    #: Datasets, each at a path of its own.
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
    #: What is new for every repeat: the process, or the whole placement.
    isolate: Isolate = Isolate.PROCESS
    #: What happens to repeats during which the machine was throttled or shared: left out, kept with a mark, or the run fails.
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
    #: Occasions to tell of.
    on: tuple[str, ...] = ("regression", "threshold", "failure", "recovery")
    #: Re-runs before telling anyone; left out: the service's default.
    confirm_runs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomParams:
    """What only one engine understands (SageMaker, CloudWatch dashboards)."""

    #: Python of SageMaker's images, such as `py3`.
    python_version: str | None = None
    #: Name of the training in SageMaker instead of the run's id.
    sagemaker_job_name: str | None = None
    #: Region of the CloudWatch dashboard.
    region: str | None = None
    #: CloudWatch dashboard that shows the metrics.
    dashboard: str | None = None
    #: Take over the metrics SageMaker recorded itself.
    merge: bool = False
    #: Handed to SageMaker's estimator as they are.
    hyper_params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """One benchmark, completely. ``matrix`` is None in every descriptor that belongs to a run."""

    #: Name, labels and schedule.
    info: Info
    #: The machine asked for.
    hardware: Hardware
    #: Version of the descriptor's grammar.
    spec_version: str = "1.0"
    #: What is under test.
    subject: Subject = field(default_factory=Subject)
    #: What the benchmark runs in.
    env: Env = field(default_factory=Env)
    #: What to execute.
    ml: Ml = field(default_factory=Ml)
    #: What to fetch before.
    data: Data = field(default_factory=Data)
    #: How it is weighed.
    measure: Measure = field(default_factory=Measure)
    #: What to read from the benchmark.
    output: Output = field(default_factory=Output)
    #: The server an inference benchmark asks.
    server: Server | None = None
    #: A sweep over values of other fields.
    matrix: Matrix | None = None
    #: Who hears of what.
    notify: tuple[Notify, ...] = ()
    #: What only one engine understands.
    custom_params: CustomParams | None = None
