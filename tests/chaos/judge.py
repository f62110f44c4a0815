"""Whether everything that was promised holds after a marathon: every run ended once, with the right values or a cause."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from anubis.client import Client
from anubis.contracts.runs import RunQuery, RunRow
from anubis.record.reading import Record
from anubis.settings import Settings
from chaos.workload import LAST

#: Causes of runs that say of themselves that their values may be incomplete.
INCOMPLETE = {"disk_full", "extraction_failed", "record_damaged"}
#: What a disturbance can cause; every other cause would be a defect.
EXPECTED = INCOMPLETE | {"cancelled", "lost", "user_error", "no_capacity", "out_of_memory"}
_VALUE = re.compile(rb"^rate=(\d+)\n", re.MULTILINE)


@dataclass(slots=True)
class Verdict:
    """What was found."""

    #: One line for each broken promise.
    broken: list[str] = field(default_factory=list)
    #: Runs by status and cause.
    ends: Counter = field(default_factory=Counter)


def judge(environment: dict[str, str], promised: set[str], starts: Sequence[str]) -> Verdict:
    """Check every run of an installation. ``starts``: run id and repeat of every execution."""
    verdict = Verdict()
    with Client.open(Settings.from_env(environment)) as client:
        rows = list(client.runs.find(RunQuery(newest_first=False, limit=100_000)))
        for row in rows:
            verdict.ends[row.status.value + (f": {row.cause.value}" if row.cause else "")] += 1
            verdict.broken += [f"run {row.id} {problem}" for problem in _problems(client, row)]
    known = {row.id for row in rows}
    verdict.broken += [f"run {run_id} was promised and is not stored" for run_id in promised - known]
    verdict.broken += [f"{start!r} was executed {count} times" for start, count in _repeated(starts)]
    verdict.broken += [f"{start!r} is not stored" for start in starts if start.split()[0] not in known]
    return verdict


def _repeated(starts: Sequence[str]) -> Iterator[tuple[str, int]]:
    return ((start, count) for start, count in Counter(starts).items() if count > 1)


def _problems(client: Client, row: RunRow) -> Iterator[str]:
    if not row.status.final:
        yield f"is not final: {row.status.value}, {row.reason}"
        return
    kinds = Counter(event.kind for event in client.runs.events(row.id))
    if (kinds["submitted"], kinds["final"]) != (1, 1):
        yield f"has the events {dict(kinds)}"
    if (row.cause is None) != (row.status == "succeeded"):
        yield f"is {row.status.value} with the cause {row.cause}"
    if row.cause is not None and row.cause.value not in EXPECTED:
        yield f"ended with the cause {row.cause.value}: {row.reason}"
    if row.status == "succeeded":
        yield from _wrong(client, row)
    elif row.cause.value not in INCOMPLETE:
        yield from _lost(client, row)


def _stored(client: Client, row: RunRow, metric: str) -> list[float]:
    samples = client.results.samples(row.id, metric)
    return list(samples.values)


def _wrong(client: Client, row: RunRow) -> Iterator[str]:
    for metric, right in (("rate", [*range(1, LAST + 1)]), ("emitted", [LAST])):
        if (values := _stored(client, row, metric)) != right:
            yield f"succeeded with {len(values)} values of {metric}: {_shown(values)}"
        if row.values.get(metric) != (LAST, "1/s"):
            yield f"succeeded with {metric} = {row.values.get(metric)}"


def _lost(client: Client, row: RunRow) -> Iterator[str]:
    """Values that the output holds and the store does not. The last line may be incomplete."""
    record = Record(client.records.files(client.runs.get(row.id)))
    state = record.files.state("stdout")
    output = record.files.read("stdout", 0, state.size_bytes) if state else b""
    printed = [float(value) for value in _VALUE.findall(output)]
    stored = _stored(client, row, "rate") if printed else []
    if printed != stored[: len(printed)] or len(stored) > len(printed) + 1:
        yield (
            f"({row.cause.value}, {row.reason}) printed {len(printed)} values, of which {len(stored)} "
            f"are stored: {_shown(stored)}"
        )


def _shown(values: Sequence[float]) -> str:
    return f"{values[:3]} ... {values[-3:]}" if len(values) > 6 else str(values)
