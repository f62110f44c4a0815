"""A history as tools exchange it: one row for each value, with the words that make it comparable."""

from dataclasses import dataclass, field

from anubis.model.metric import Better

#: The columns that every exported file has, in their order.
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
    """One value of one benchmark, imported from another tool or on its way into an exported file.

    A missing value is no measurement: ``value`` is finite.
    """

    benchmark: str
    metric: str
    value: float
    #: As the tool writes it; "none" for a plain number.
    units: str = "none"
    better: Better = Better.NONE
    #: Sample standard deviation over the repeats, same unit; None: not known.
    spread: float | None = None
    #: Repeats behind the value.
    count: int = 1
    #: When it was measured; UTC, seconds since 1970.
    time_s: float
    #: Time of the commit, which orders the series; None: not known, ``time_s`` orders it.
    commit_s: float | None = None
    #: Commit id; ends in ``-dirty`` when the tree was changed.
    commit: str = ""
    #: Version of what was measured, where it has one.
    version: str = ""
    #: Where the code under test lives.
    repository: str = ""
    #: What the benchmark was called with.
    parameters: dict[str, str] = field(default_factory=dict)
    #: What else keeps two series apart: suite, environment, version of the benchmark itself.
    labels: dict[str, str] = field(default_factory=dict)
    #: Name that somebody gave the machine; empty: it has none (the host names of CI runners are no names).
    machine: str = ""
    #: Facts about the machine that must match before two values are comparable.
    facts: dict[str, str] = field(default_factory=dict)
    #: Fingerprint of the machine, in exports of our own points; it then stands for ``machine`` and ``facts``.
    fingerprint: str = ""
    #: The tool's own name of the run; values of one run and metric are its repeats. Empty: the time tells runs apart.
    run: str = ""
    #: The machine was disturbed while this was measured.
    contaminated: bool = False
