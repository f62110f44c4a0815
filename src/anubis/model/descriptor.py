"""The descriptor of a benchmark. One type for every file version; ``describe`` reads TOML into it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from anubis.model.cause import Cause
from anubis.model.hardware import Hardware, Strategy
from anubis.model.metric import Metric, Output
from anubis.model.server import DataSource, Server

SINGLE_RUN = "single_run"
DEFAULT_ENGINE = "default"
#: A variable with this prefix before the name of a secret has the value of the secret.
SECRET = "secret:"  # noqa: S105  not a secret
#: Largest number of warm-ups with ``warmups = "auto"``.
MOST_WARMUPS = 30


class Overlap(StrEnum):
    """The action of a due schedule while its previous run is not final."""

    SKIP = "skip"
    QUEUE = "queue"
    REPLACE = "replace"


class Isolate(StrEnum):
    """What is started anew for every repeat."""

    PROCESS = "process"
    PLACE = "place"


class OnContamination(StrEnum):
    """The treatment of repeats during which the machine was disturbed."""

    VOID = "void"
    KEEP = "keep"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """Name, labels and schedule."""

    #: Name of the benchmark, in the grammar of labels. Runs with the same name belong to one history.
    name: str
    #: Free text.
    description: str = ""
    #: Labels to find runs by. Some names are reserved.
    labels: dict[str, str] = field(default_factory=dict)
    #: Five-field cron expression, ``@daily`` and its like, or ``single_run``.
    scheduling: str = SINGLE_RUN
    #: IANA name of the time zone of the schedule.
    timezone: str = "UTC"
    #: Action of a due schedule while its previous run is not final: skip this run, queue it, or replace the previous run.
    overlap: Overlap = Overlap.SKIP
    #: Name of an engine; ``default``: the engine that the installation sets.
    execution_engine: str = DEFAULT_ENGINE
    #: Waiting runs with a larger value start first.
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The code under test; the subject may differ between two points of one series."""

    #: Repository of the code under test.
    repository: str | None = None
    #: Commit id; ``auto`` is replaced by the commit of the working tree, with ``-dirty`` if tracked files are changed.
    commit: str | None = None
    #: Version of the code under test.
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Env:
    """The environment of the benchmark."""

    #: Image to run in; resolved to a digest and recorded. Not needed on engines that use no image.
    docker_image: str | None = None
    #: Run with all privileges of the machine; needs the permission of the operator.
    privileged: bool = False
    #: Give the container the shared memory size of the machine.
    extended_shm: bool = True
    #: Environment variables. `secret:NAME` is the value of a secret of the operator; it is masked in the output.
    vars: dict[str, str] = field(default_factory=dict)
    #: Variables of the submitter to inherit although they have the name of a secret or of a setting; values of at
    #: least 8 bytes are masked in the output. All other variables are inherited without being named.
    inherit: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The user's code, as an archive in the object store."""

    #: ``<sha256>.tar``.
    script: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ml:
    """The command to execute."""

    #: Command in exec form (split like a shell command, run without a shell; `${NAME}` and `$(NAME)` are replaced).
    #: Default: the entry point of the image.
    benchmark_code: str | None = None
    #: Further arguments of the command, or of the entry point of the image.
    args: str = ""
    #: Name of the framework, for information and for engines that provide it.
    framework: str = ""
    #: Version of the framework.
    framework_version: str | None = None
    #: The user's code; written by `--script`.
    script: Script | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The data to fetch before the benchmark starts."""

    #: Datasets, each at a different path.
    sources: tuple[DataSource, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How the benchmark is measured."""

    #: Measured executions in the same placement.
    repeats: int = 1
    #: Executions before the measured ones that are recorded but not judged; "auto": until their duration is steady, at
    #: most 30.
    warmups: int | Literal["auto"] = 0
    #: Maximum wall-clock time of one execution; after it the whole process tree is killed with cause ``timeout``.
    timeout_s: float = 86_400.0
    #: What is started anew for every repeat: the process, or the whole placement.
    isolate: Isolate = Isolate.PROCESS
    #: Treatment of repeats during which the machine was throttled or shared: left out, kept and marked, or the run fails.
    on_contamination: OnContamination = OnContamination.KEEP
    #: Start every execution with the same layout of memory. By default the size of the environment is random, so that the
    #: layout is part of the noise instead of a bias.
    fixed_layout: bool = False
    #: CPUs to pin the benchmark to, such as "0-3,8"; "auto": one CPU of each core. Empty: all that the run may use.
    pin: str = ""
    #: NUMA node whose CPUs and memory the benchmark uses. Default: all.
    numa: int | None = None
    #: Priority of the benchmark from -20 (first) to 19; a negative one needs rights.
    nice: int = 0
    #: Forget cached files before every execution; needs root.
    drop_caches: bool = False
    #: Frequency governor of the machine during the run, such as "performance"; needs root. The previous one is put back.
    governor: str = ""

    @property
    def most_warmups(self) -> int:
        """The largest number of warm-ups."""
        return MOST_WARMUPS if self.warmups == "auto" else self.warmups

    @property
    def most_executions(self) -> int:
        """The largest number of executions, warm-ups included."""
        return self.most_warmups + self.repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Timeouts of the phases of a run, and what is repeated. The time in the queue is limited by `hardware.max_wait_s`."""

    #: Maximum time to fetch the data; after it the run ends with cause `fetch_timeout`. Default: no limit.
    fetch_timeout_s: float | None = None
    #: Maximum time that the engine prepares the machine, for example pulls the image; after it the run ends with cause
    #: `start_timeout`. Default: no limit.
    start_timeout_s: float | None = None
    #: Maximum time from the placement to the end of the last execution; after it the run is stopped with cause
    #: `run_timeout`. One execution is limited by `measure.timeout_s`. Default: no limit.
    run_timeout_s: float | None = None
    #: Further attempts of a run that fails by a cause of `retry_on`.
    retries: int = 0
    #: Causes after which the run is repeated. Default: every transient cause.
    retry_on: tuple[Cause, ...] = ()
    #: Pause before the first further attempt; it doubles with each attempt, up to 300 s.
    retry_pause_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A sweep: the cross product of the axes, without the excluded cells."""

    #: Dotted descriptor path -> the values it takes.
    axes: dict[str, tuple[Any, ...]]
    #: A cell is left out if it has all values of one entry.
    exclude: tuple[dict[str, Any], ...] = ()
    #: Further cells, each with a value for one axis or more; the other axes have the value of the file.
    include: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Halving:
    """Successive halving: after every rung of a sweep, only the best combinations are measured further."""

    #: Metric that ranks the combinations; it must have a better direction.
    metric: str
    #: Axis whose values are the rungs, in order; default: the axis of the seeds. A rung of seeds ranks by the mean of all
    #: seeds so far, a rung of another axis by its value alone.
    along: str | None = None
    #: Share of the combinations that remain after a rung.
    keep: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRules:
    """How the cells of a sweep are run. Needs a matrix."""

    #: Cells in progress at the same time; default: the engine decides.
    max_parallel: int | None = None
    #: The sweep stops if so many cells fail with the same cause before any other ends; 0: never.
    stop_after: int = 5
    #: Maximum cost of all cells together; after it the sweep stops, and cells in progress end with cause `budget`. Default: no
    #: limit.
    max_cost: str | None = None
    #: Maximum time that all cells together run, each from its placement to its end; after it the sweep stops like after
    #: `max_cost`. Default: no limit.
    max_run_s: float | None = None
    #: Early stop of combinations that cannot be the best.
    halving: Halving | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """A subscription to alerts."""

    #: ``mailto:...``, ``slack:#channel``, ``https://...``, ``github:check``.
    to: str
    #: Events to deliver.
    on: tuple[str, ...] = ("regression", "threshold", "failure", "recovery")
    #: Confirming runs of baseline and of contender, alternated, before an alert is delivered; default: none.
    confirm_runs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomParams:
    """Settings that only one engine uses (SageMaker, CloudWatch dashboards)."""

    #: Python version of the SageMaker images, such as `py3`.
    python_version: str | None = None
    #: Name of the training in SageMaker instead of the run's id.
    sagemaker_job_name: str | None = None
    #: Region of the CloudWatch dashboard.
    region: str | None = None
    #: CloudWatch dashboard that shows the metrics.
    dashboard: str | None = None
    #: Import the metrics that SageMaker recorded.
    merge: bool = False
    #: Passed to the SageMaker estimator unchanged.
    hyper_params: dict[str, Any] = field(default_factory=dict)


def secret_name(value: str) -> str | None:
    """The name of the secret that the value of a variable refers to; None for other values."""
    return value.removeprefix(SECRET) if value.startswith(SECRET) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """The complete description of one benchmark. ``matrix`` and ``sweep`` are None in the descriptor of a run."""

    #: Name, labels and schedule.
    info: Info
    #: The requested machine.
    hardware: Hardware
    #: Version of the descriptor format.
    spec_version: str = "1.0"
    #: The code under test.
    subject: Subject = field(default_factory=Subject)
    #: The environment of the benchmark.
    env: Env = field(default_factory=Env)
    #: The command to execute.
    ml: Ml = field(default_factory=Ml)
    #: The data to fetch before the benchmark starts.
    data: Data = field(default_factory=Data)
    #: How the benchmark is measured.
    measure: Measure = field(default_factory=Measure)
    #: Timeouts, and what is repeated.
    limits: Limits = field(default_factory=Limits)
    #: The metrics of the benchmark.
    output: Output = field(default_factory=Output)
    #: The server of an inference benchmark.
    server: Server | None = None
    #: A sweep over values of other fields.
    matrix: Matrix | None = None
    #: How the cells of the matrix are run.
    sweep: SweepRules | None = None
    #: Subscriptions to alerts.
    notify: tuple[Notify, ...] = ()
    #: Settings that only one engine uses.
    custom_params: CustomParams | None = None

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The declared metrics of the benchmark, and of its server if the strategy has one."""
        has_server = self.hardware.strategy in {Strategy.INFERENCE, Strategy.PARAMETER_SERVER}
        return self.output.metrics + (self.server.output.metrics if self.server and has_server else ())
