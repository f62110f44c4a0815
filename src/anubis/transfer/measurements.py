"""Conversion of imported measurements to runs and points, and of stored points to measurements."""

import hashlib
import json
import re
import statistics
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from anubis.contracts.runs import RunRow
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.descriptor import Descriptor, Info, Subject
from anubis.model.hardware import Hardware
from anubis.model.history import Measurement
from anubis.model.identity import canonical, in_project, key_in_project, series_key
from anubis.model.metric import Better
from anubis.model.plain import to_plain
from anubis.model.points import Point
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record.units import conflict, ratio
from anubis.transfer.history_findings import Findings

#: Engine name of imported runs. No engine has this name, so they cannot be run again by mistake.
ENGINE = "import"
#: Label of imported runs: their original format. It is kept when they are exported and imported again.
ORIGIN = "imported_from"
#: Fingerprint of points without information about the machine.
UNKNOWN_MACHINE = "unknown"

_EMPTY = Descriptor(info=Info(name=""), hardware=Hardware(instance_type="unknown"))
_DAY_MS = 86_400_000
_COMMIT = re.compile(r"[0-9a-f]{7,64}(-dirty)?")


_Words = tuple[tuple[str, str], ...]
_SeriesId = tuple[str, _Words, _Words]
_SubjectId = tuple[str, str, str]
_MachineId = tuple[str, _Words, str]
_Identity = tuple[_SeriesId, _SubjectId, _MachineId, str | float]


@dataclass(frozen=True, slots=True)
class History:
    """The runs and points of an import."""

    #: Finished runs, each with a generated descriptor file.
    runs: list[tuple[Run, str]] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Series:
    """Data shared by the runs of one series."""

    info: Info
    #: Canonical JSON of the descriptor, without its closing brace and without a subject.
    opened: str
    series_key: str
    text: str


def to_points(measurements: Iterable[Measurement], *, origin: str, owner: str, findings: Findings) -> History:
    """One finished run with its points for each benchmark, subject, machine and time (or run of the tool).

    Run ids are derived from the content, so importing a file twice stores it once. Several values of one run and metric
    are repeats: their median, deviation and number form the point.
    """
    groups: dict[_Identity, dict[str, list[Measurement]]] = {}
    for each in measurements:
        of_run = groups.setdefault(_identity(each), {})
        of_run.setdefault(each.metric, []).append(each)
    history, factory = History(), _RunFactory(origin, owner)
    for identity, metrics in groups.items():
        first = next(iter(metrics.values()))[0]
        run, text, fingerprint = factory.run(first, identity)
        history.runs.append((run, text))
        for values in metrics.values():
            history.points.append(_point(values, run, fingerprint, findings))
    return history


def _identity(each: Measurement) -> _Identity:
    """The identity of a run: series, subject, machine, and the run id of the tool or else the time."""
    return (
        (each.benchmark, _words(each.parameters), _words(each.labels)),
        (each.repository, each.commit, each.version),
        (each.machine, _words(each.facts), each.fingerprint),
        each.run or each.time_s,
    )


def _words(mapping: Mapping[str, str]) -> _Words:
    return tuple(sorted(mapping.items())) if mapping else ()


class _RunFactory:
    """Creates runs and caches the data that they share."""

    def __init__(self, origin: str, owner: str) -> None:
        self._origin = origin
        self._owner = owner
        self._series: dict[_SeriesId, _Series] = {}
        self._subjects: dict[_SubjectId, tuple[Subject, str]] = {}
        self._fingerprints: dict[_MachineId, str] = {}
        self._ids: set[str] = set()

    def run(self, first: Measurement, identity: _Identity) -> tuple[Run, str, str]:
        """The run of a measurement, its descriptor's text and the fingerprint of its machine."""
        series = self._series_of(identity[0], first)
        subject, tail = self._subject_of(identity[1])
        fingerprint = self._fingerprint_of(identity[2])
        digest = _sha256(f"{series.opened}{tail}")
        run = Run(
            id=self._run_id(first, f"{digest} {fingerprint} {first.run or first.time_s!r}"),
            descriptor=_descriptor(series.info, subject),
            digest=digest,
            series_key=series.series_key,
            owner=self._owner,
            engine=ENGINE,
            status=Status.SUCCEEDED,
            created_s=first.time_s,
            due_s=first.time_s,
            placed_s=first.time_s,
            ended_s=first.time_s,
            order_s=first.commit_s,
            reason=f"imported from {series.info.labels[ORIGIN]}",
        )
        return run, series.text, fingerprint

    def _series_of(self, key: _SeriesId, each: Measurement) -> _Series:
        if key not in self._series:
            labels = {ORIGIN: self._origin, **each.labels}
            for name, value in each.parameters.items():
                labels[f"parameter.{name}" if name in labels else name] = value
            info = Info(name=each.benchmark, labels=labels, execution_engine=ENGINE)
            descriptor = _descriptor(info, Subject())
            self._series[key] = _Series(info, canonical(descriptor)[:-1], series_key(descriptor), _toml(info))
        return self._series[key]

    def _subject_of(self, key: _SubjectId) -> tuple[Subject, str]:
        """The subject, and the end of a canonical descriptor with it: ``subject`` sorts after all other keys."""
        if key not in self._subjects:
            repository, commit, version = key
            subject = Subject(repository=repository or None, commit=commit or None, version=version or None)
            plain = json.dumps(to_plain(subject), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            self._subjects[key] = subject, f',"subject":{plain}}}' if subject != Subject() else "}"
        return self._subjects[key]

    def _fingerprint_of(self, key: _MachineId) -> str:
        if key not in self._fingerprints:
            machine, facts, fingerprint = key
            derived = _sha256(repr((machine, facts))) if machine or facts else UNKNOWN_MACHINE
            self._fingerprints[key] = fingerprint or derived
        return self._fingerprints[key]

    def _run_id(self, first: Measurement, identity: str) -> str:
        """The id of the run if it is an export of Anubis, else an id derived from the identity."""
        identifier = _anubis_id(first.run)
        if identifier is None or identifier in self._ids:
            identifier = run_id(first.time_s, _sha256(identity))
        self._ids.add(identifier)
        return identifier


def _descriptor(info: Info, subject: Subject) -> Descriptor:
    """A descriptor with this information and subject. Empty sections are shared between the many descriptors of an import."""
    empty = _EMPTY
    return Descriptor(
        info=info,
        hardware=empty.hardware,
        subject=subject,
        env=empty.env,
        ml=empty.ml,
        data=empty.data,
        measure=empty.measure,
        output=empty.output,
    )


def _sha256(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()


def run_id(time_s: float, digest: str) -> str:
    """A UUID of version 7 (RFC 9562) whose time is correct to the day.

    Users see the first 13 characters of an id, which are its time. A whole file often has a single time, so the
    milliseconds within the day are taken from the digest (hex), like the random bits.
    """
    bits = int(digest[:40], 16)
    day_ms = int(time_s) // 86_400 * _DAY_MS
    milliseconds = day_ms + (bits >> 80) % _DAY_MS
    value = milliseconds << 80 | 0x7 << 76 | (bits >> 62 & 0xFFF) << 64 | 0b10 << 62 | bits & (1 << 62) - 1
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _anubis_id(text: str) -> str | None:
    try:
        parsed = uuid.UUID(text) if len(text) == 36 else None
    except ValueError:
        return None
    return text if parsed is not None and parsed.version == 7 and str(parsed) == text else None


def _toml(info: Info) -> str:
    """A descriptor file for an imported run. It has no image or command, so submitting it is refused."""
    labels = "\n".join(f"{_quoted(key)} = {_quoted(value)}" for key, value in info.labels.items())
    return (
        f'# Written by anubis import: this run was measured by another tool.\nspec_version = "1.0"\n\n'
        f"[info]\nname = {_quoted(info.name)}\nexecution_engine = {_quoted(ENGINE)}\n\n"
        f'[info.labels]\n{labels}\n\n[hardware]\ninstance_type = "unknown"\n'
    )


def _quoted(words: str) -> str:
    """A basic string of TOML; JSON escapes the same characters except DEL."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")


def _point(values: list[Measurement], run: Run, fingerprint: str, findings: Findings) -> Point:
    first = values[0]
    value, spread, count = first.value, first.spread, first.count
    if len(values) > 1:
        values = _repeats(values, findings)
    if len(values) > 1:
        numbers = [each.value for each in values]
        value, spread, count = statistics.median(numbers), statistics.stdev(numbers), len(numbers)
        if any(each.count > 1 for each in values):
            findings.warn(
                f'"{first.benchmark}" has several summaries of {first.metric} in one run; their median is kept',
                "export each run once",
            )
    return Point(
        run_id=run.id,
        series_key=run.series_key,
        fingerprint=fingerprint,
        metric=first.metric,
        units=first.units,
        value=value,
        spread=spread if count > 1 else None,
        count=count,
        better=first.better.value,
        order_s=first.time_s if first.commit_s is None else first.commit_s,
        subject=first.commit or first.version,
        contaminated=any(each.contaminated for each in values),
    )


def _repeats(values: list[Measurement], findings: Findings) -> list[Measurement]:
    """The distinct values of one run and metric, in the unit of the first."""
    units, same = values[0].units, []
    for each in values:
        fraction = ratio(each.units, units)
        if fraction is None:
            findings.error(
                f'"{each.benchmark}": {conflict(each.metric, units, each.units)}',
                "give each value a different metric name",
            )
            continue
        above, below = fraction
        spread = None if each.spread is None else each.spread * above / below
        same.append(replace(each, units=units, value=each.value * above / below, spread=spread))
    return [each for position, each in enumerate(same) if each not in same[:position]]


def measurements_of(rows: Sequence[RunRow], points: Iterable[Point]) -> Iterator[Measurement]:
    """Points with the data of their runs, as measurements for export.

    Runs of Anubis get the label ``series``, which distinguishes series with the same name.
    """
    by_id = {row.id: row for row in rows}
    for point in points:
        row = by_id.get(point.run_id)
        if row is None:
            continue
        is_commit = _COMMIT.fullmatch(point.subject) is not None
        time_s = row.created_s if row.placed_s is None else row.placed_s
        imported = row.engine == ENGINE
        yield Measurement(
            benchmark=row.name,
            metric=point.metric,
            value=point.value,
            units=point.units,
            better=Better(point.better),
            spread=point.spread,
            count=point.count,
            time_s=time_s,
            commit_s=point.order_s if point.order_s != time_s else None,
            commit=point.subject if is_commit else "",
            version="" if is_commit else point.subject,
            labels=row.labels if imported else {**row.labels, "series": point.series_key[:12]},
            fingerprint=point.fingerprint,
            run=point.run_id,
            contaminated=point.contaminated,
        )


def again(history: History) -> Iterator[Measurement]:
    """The measurements of which ``to_points`` makes the same runs and points."""
    runs = {run.id: run for run, _ in history.runs}
    for point in history.points:
        run = runs[point.run_id]
        subject = run.descriptor.subject
        yield Measurement(
            benchmark=run.descriptor.info.name,
            metric=point.metric,
            value=point.value,
            units=point.units,
            better=Better(point.better),
            spread=point.spread,
            count=point.count,
            time_s=run.created_s,
            commit_s=run.order_s,
            commit=subject.commit or "",
            version=subject.version or "",
            repository=subject.repository or "",
            labels=dict(run.descriptor.info.labels),
            fingerprint=point.fingerprint,
            run=point.run_id,
            contaminated=point.contaminated,
        )


def of_project(history: History, project: str) -> History:
    """The history as one of a project. Its runs have their own ids, so that no other project has them."""
    if project == DEFAULT_PROJECT:
        return history
    ids = {run.id: run_id(run.created_s, _sha256(f"{project}\n{run.id}")) for run, _ in history.runs}
    runs = [(in_project(replace(run, id=ids[run.id]), project), text) for run, text in history.runs]
    points = [
        replace(each, run_id=ids[each.run_id], series_key=key_in_project(each.series_key, project))
        for each in history.points
    ]
    return History(runs, points)
