"""The exchange form of a history: one row for each value, with everything that makes it comparable."""

from dataclasses import dataclass, field

from anubis.model.metric import Better

#: The columns of every exported file, in order.
COLUMNS = (
    "benchmark",
    "metric",
    "value",
    "units",
    "better",
    "spread",
    "count",
    "time_s",
    "commit_s",
    "commit",
    "version",
    "repository",
    "machine",
    "fingerprint",
    "run",
    "contaminated",
)
#: Further columns, one for each key: ``parameter.threads``, ``label.suite``, ``fact.cpu``.
GROUPS = {"parameter": "parameters", "label": "labels", "fact": "facts"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One value of one benchmark, imported from another tool or to be exported.

    ``value`` is finite: a missing value is not a measurement.
    """

    benchmark: str
    metric: str
    value: float
    #: Unit as the tool writes it; "none" for a plain number.
    units: str = "none"
    better: Better = Better.NONE
    #: Sample standard deviation over the repeats, same unit; None: not known.
    spread: float | None = None
    #: Number of repeats of the value.
    count: int = 1
    #: Time of the measurement; UTC, seconds since 1970.
    time_s: float
    #: Time of the commit, which orders the series; None: unknown, ``time_s`` orders it.
    commit_s: float | None = None
    #: Commit id; ends in ``-dirty`` if tracked files were changed.
    commit: str = ""
    #: Version of the code under test, if it has one.
    version: str = ""
    #: Repository of the code under test.
    repository: str = ""
    #: Parameters of the benchmark.
    parameters: dict[str, str] = field(default_factory=dict)
    #: Further labels that distinguish series: suite, environment, version of the benchmark.
    labels: dict[str, str] = field(default_factory=dict)
    #: Configured name of the machine; empty: none (host names of CI runners do not count).
    machine: str = ""
    #: Facts about the machine that must be equal for two values to be comparable.
    facts: dict[str, str] = field(default_factory=dict)
    #: Fingerprint of the machine in exports of Anubis; it replaces ``machine`` and ``facts``.
    fingerprint: str = ""
    #: Id of the run in the tool; values of one run and metric are its repeats. Empty: the time identifies the run.
    run: str = ""
    #: The machine was disturbed while this was measured.
    contaminated: bool = False
