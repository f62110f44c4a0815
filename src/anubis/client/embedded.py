"""The Python door: the same verbs with the same words as the command line.

``Client.open()`` works on this machine's own home folder; a person's script and the command line use this one
class. Times are UTC seconds since 1970, run references are full ids, unique prefixes, ``@last`` or ``@last~2``.
"""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self

from anubis.contracts.points import MetricSummary
from anubis.contracts.runs import RunQuery, RunRow
from anubis.judging.comparison import compare_points
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.points import Point, SampleBlock
from anubis.model.problem import Problem
from anubis.model.run import Event, Run
from anubis.model.verdict import Comparison
from anubis.pipeline import worker
from anubis.pipeline.completion import Waiting
from anubis.pipeline.lease_owner import new_owner
from anubis.settings import Settings
from anubis.submission import script_archive
from anubis.submission.descriptor_files import submissions_of
from anubis.submission.submit import only_recorded, runs_of
from anubis.wiring import Installation, build

if TYPE_CHECKING:
    from anubis.bisection.bisect_request import BisectRequest
    from anubis.bisection.bisection import BisectResult, CommitResult
    from anubis.judging.alert_triage import TriageAction
    from anubis.judging.gate import GateSides
    from anubis.judging.series_overview import SeriesOverview
    from anubis.model.alert import Alert, AlertState
    from anubis.pipeline.reconciler import Reconciler
    from anubis.reporting.gate_report import Report
    from anubis.transfer.histories import ImportDefaults, ImportResult

_LAST = re.compile(r"@last(?:~(\d+))?")


class Client:
    """Everything a person can ask of Anubis."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._world = installation.world

    @classmethod
    def open(cls, settings: Settings | None = None) -> Self:
        """A client of the installation in the environment's (or the given) settings."""
        return cls(build(settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._installation.close()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._installation.settings

    def submit(
        self,
        files: Sequence[Path],
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | None = None,
        rounds: int = 1,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> list[Run]:
        """Store the runs of these descriptor files, all or none, in the order in which they will go.

        Several files, rounds or a ``[matrix]`` make a family. ``warned`` hears of every old spelling, and of what the
        engine only records. Raises
        BadInputError with every problem found.
        """
        key = self._store_script(script) if script else None
        submissions = submissions_of(files, overrides=overrides or {}, script=key, warned=warned)
        runs, events = runs_of(
            submissions,
            engines=self._world.engines,
            default_engine=self.settings.engine,
            owner=self.settings.client_id,
            clock=self._world.clock,
            rounds=rounds,
        )
        self._world.runs.add(runs, events)
        if warned:
            engines = self._world.engines
            for problem in dict.fromkeys(
                p for run, _ in runs for p in only_recorded(run.descriptor, engines[run.engine])
            ):
                warned(files[0], problem)
        return [run for run, _ in runs]

    def _store_script(self, path: Path) -> str:
        key, content = script_archive.archive(path)
        self._world.objects.put(key, io.BytesIO(content))
        return key

    def drive(self, run_ids: Sequence[str], changed: Callable[[Run], None] | None = None) -> list[Run]:
        """Drive due runs from this process until these are final; the runs as they ended.

        Another process may drive some of them; ``changed`` hears of every change of these runs, whoever made it.
        """
        waiting = Waiting(self._world.runs, run_ids, changed)
        self._reconciler(waiting.note).drive(until=waiting.over)
        if self._world.runs.unfinished() or not self._installation.relay.turn():
            worker.start(self.settings.home)
        return [self._world.runs.get(run_id) for run_id in run_ids]

    def work(self) -> bool:
        """Be the background worker until no run is unfinished and everybody was told; False when another is.

        Whoever cannot be told for an hour is left to the next worker.
        """
        home, unfinished = self.settings.home, self._world.runs.unfinished
        idle = worker.idle(home, unfinished, self._installation.relay.turn)
        return worker.work(home, lambda: self._reconciler().drive(until=idle), unfinished)

    def ensure_worker(self) -> bool:
        """Start a background worker if there is unfinished work and no worker; whether one was started."""
        return self._world.runs.unfinished() > 0 and worker.start(self.settings.home)

    def _reconciler(self, changed: Callable[[Run], None] | None = None) -> "Reconciler":
        from anubis.pipeline.reconciler import Reconciler  # noqa: PLC0415  20 ms that a listing need not pay

        return Reconciler(self._world, new_owner(), lease_s=self.settings.lease_s, changed=changed)

    def get(self, ref: str) -> Run:
        """The run behind a reference. Raises NotFoundError."""
        if match := _LAST.fullmatch(ref):
            back = int(match[1] or 0)
            rows = self._world.runs.find(RunQuery(limit=back + 1))
            if len(rows) <= back:
                raise NotFoundError(
                    f"there is no {ref}: {len(rows)} runs are stored", remedy="see anubis history"
                )
            ref = rows[back].id
        return self._world.runs.get(ref)

    def engines(self) -> list[str]:
        """The names of the engines of this installation."""
        return sorted(self._world.engines)

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        """Runs for a listing."""
        return self._world.runs.find(query)

    def family(self, ref: str) -> Sequence[RunRow]:
        """The runs of the same family in the order in which they were submitted; just the run when it has none."""
        run = self.get(ref)
        query = RunQuery(family_id=run.family_id) if run.family_id else RunQuery(ids=(run.id,))
        return self._world.runs.find(replace(query, limit=100_000, newest_first=False))

    def events(self, ref: str, *, after_seq: int = 0) -> Sequence[Event]:
        """The timeline of a run."""
        return self._world.runs.events(self.get(ref).id, after_seq=after_seq)

    def text(self, ref: str) -> str:
        """The descriptor file as it was submitted."""
        return self._world.runs.text(self.get(ref).id)

    def cancel(self, refs: Sequence[str], *, why: str = "") -> list[Run]:
        """Ask for the end of runs; those that were not final. Whoever drives them obeys, now or when it is back."""
        runs = [self.get(ref) for ref in refs]
        now_s, actor = self._world.clock.now_s(), self.settings.client_id
        asked = set(
            self._world.runs.request_cancel(
                [run.id for run in runs],
                [
                    Event(run_id=run.id, kind="cancel_requested", time_s=now_s, message=why, actor=actor)
                    for run in runs
                ],
            )
        )
        for run in runs:
            if run.id in asked and run.placement:
                self._world.engines[run.engine].cancel(run.placement)
        return [run for run in runs if run.id in asked]

    def purge(self, refs: Sequence[str]) -> list[str]:
        """Forget final runs and delete their records; the ids. Raises BadInputError for a run that is not final."""
        runs = [self.get(ref) for ref in refs]
        if busy := [run.id for run in runs if not run.status.final]:
            raise BadInputError(
                f"not final yet: {', '.join(busy)}", remedy="cancel them first (anubis cancel)"
            )
        self._world.runs.remove([run.id for run in runs])
        for run in runs:
            self._world.records.remove(run.id)
        return [run.id for run in runs]

    def points(self, refs: Sequence[str]) -> Sequence[Point]:
        """The points of these runs: one value for each run and metric."""
        return self._world.points.of([self.get(ref).id for ref in refs])

    def summaries(self, ref: str) -> Sequence[MetricSummary]:
        """Count, last, extremes and mean of every metric's samples."""
        return self._world.points.summaries(self.get(ref).id)

    def samples(self, ref: str, metric: str, *, most: int | None = None) -> SampleBlock:
        """The samples of one metric, thinned to at most ``most``."""
        return self._world.points.samples(self.get(ref).id, metric, most=most)

    def record(self, ref: str) -> Path:
        """The folder that holds the record of the run's latest attempt (role benchmark, rank 0)."""
        run = self.get(ref)
        folder = self.record_folder(run)
        if not folder.exists():
            raise NotFoundError(
                f"run {run.id} has no record on this machine", remedy="a run leaves one once it was placed"
            )
        return folder

    def pack_record(self, run_id: str) -> int:
        """Keep the record of a final run in less space; the bytes freed. Whoever reads it finds it whole."""
        return self._world.records.pack(run_id)

    def record_folder(self, run: Run) -> Path:
        """Where the record of a run's attempt is, or will be."""
        return self._world.records.folder(run.id, run.attempt)

    def export_record(self, ref: str, out: BinaryIO) -> Run:
        """Write a final run with its record, rows and script as one archive. Raises BadInputError before it is final."""
        from anubis.transfer import run_transfer  # noqa: PLC0415  zstandard and tarfile are needed only here

        run = self.get(ref)
        run_transfer.export(run, self._world, out)
        return run

    def import_record(self, file: Path) -> Run:
        """Bring the run of an archive into this home, complete or not at all. Raises BadInputError."""
        from anubis.transfer import run_transfer  # noqa: PLC0415

        return run_transfer.import_archive(file, self._world, self.settings.home)

    def compare(
        self,
        baseline: Sequence[str],
        contender: Sequence[str],
        *,
        min_effect: float = 0.02,
        metrics: Sequence[str] = (),
    ) -> Comparison:
        """A verdict for every (or every named) metric that both sets of runs have; each run counts once, with its point."""
        old, new = (
            [point for point in self.points(side) if not metrics or point.metric in metrics]
            for side in (baseline, contender)
        )
        return compare_points(old, new, min_effect=min_effect)

    def check(
        self,
        contender: Sequence[str],
        baseline: Sequence[str] | None = None,
        *,
        min_effect: float | None = None,
    ) -> "Report":
        """Weigh runs against others, or the current level of their history: what a gate reports."""
        from anubis.judging.gate import GateSides  # noqa: PLC0415  20 ms that a listing need not pay, here and below

        new, old = ([self.get(ref) for ref in refs] for refs in (contender, baseline or ()))
        contest = GateSides(contender=new, baseline=None if baseline is None else old)
        return self.weigh([contest], min_effect=min_effect)

    def weigh(self, contests: "Sequence[GateSides]", *, min_effect: float | None = None) -> "Report":
        """Weigh several contenders, each against its own baseline, and adjust all verdicts together."""
        from anubis.judging import gate  # noqa: PLC0415

        return gate.compare_sides(contests, self._world, min_effect=min_effect)

    def alerts(
        self, *, states: "Sequence[AlertState]" = (), benchmark: str | None = None
    ) -> "Sequence[Alert]":
        """Alerts as they stand, newest first; those of some states or one benchmark."""
        from anubis.judging import alert_triage  # noqa: PLC0415

        return alert_triage.find(self._world, states=states, benchmark=benchmark)

    def alert(self, alert_id: str) -> "tuple[Alert, Sequence[Event]]":
        """An alert by id or unique prefix, and everything that ever happened to it. Raises NotFoundError."""
        from anubis.judging import alert_triage  # noqa: PLC0415

        return alert_triage.get(self._world, alert_id)

    def rule(
        self, alert_id: str, ruling: "TriageAction", *, why: str, until_s: float | None = None
    ) -> "Alert":
        """Decide about an alert; kept with who, when and why. Raises BadInputError where it cannot be."""
        from anubis.judging import alert_triage  # noqa: PLC0415

        actor = self.settings.client_id
        alert = alert_triage.triage(self._world, alert_id, ruling, actor=actor, why=why, until_s=until_s)
        self.tell()
        return alert

    def series(
        self, *, benchmark: str | None = None, metric: str | None = None
    ) -> "Sequence[SeriesOverview]":
        """Every series with its points and what is said about it."""
        from anubis.judging import series_overview  # noqa: PLC0415

        return series_overview.series_overviews(self._world, benchmark=benchmark, metric=metric)

    def judge_again(self, *, benchmark: str | None = None, tell: bool = False) -> "Sequence[Alert]":
        """Judge all of history again; the alerts that are different now. Nobody is told unless ``tell``."""
        from anubis.judging import series_overview  # noqa: PLC0415

        changed = series_overview.rejudge(self._world, benchmark=benchmark, tell=tell)
        self.tell()
        return changed

    def tell(self) -> None:
        """Tell people what they have not been told yet; a background worker goes on with whom cannot be told now."""
        if not self._installation.relay.turn():
            worker.start(self.settings.home)

    def bisect(
        self,
        question: "BisectRequest",
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,
        told: "Callable[[CommitResult], None] | None" = None,
    ) -> "BisectResult":
        """Find the commit that changed a metric; ``pipeline.question`` asks from a descriptor file.

        ``measure`` drives runs (None: ``drive``), ``told`` hears answers. Interrupted, it goes on where it stopped
        when it is asked again.
        """
        from anubis.bisection import bisection  # noqa: PLC0415

        drive = measure or (lambda runs: self.drive([run.id for run in runs]))
        return bisection.bisect(question, self._world, self.settings, measure=drive, on_commit=told)

    def question_of_alert(
        self, alert_id: str, *, metric: str | None = None, repository: Path | None = None
    ) -> "BisectRequest":
        """What ``bisect`` is asked: which commit in the range of an alert changed its gravest metric."""
        from anubis.bisection import bisect_request as question  # noqa: PLC0415

        alert = self._world.alerts.get(alert_id)
        return question.from_alert(alert, self._world, metric=metric, repository=repository)

    def read_history(
        self,
        addresses: Sequence[str],
        *,
        format_name: str | None = None,
        given: "ImportDefaults | None" = None,
    ) -> "ImportResult":
        """What other tools' files hold, as runs and points; nothing is stored. Raises BadInputError."""
        from anubis.transfer import histories  # noqa: PLC0415

        owner = self.settings.client_id
        return histories.import_files(addresses, owner=owner, format_name=format_name, defaults=given)

    def store_history(self, found: "ImportResult") -> int:
        """Store what was read; how many of its runs were not stored already."""
        from anubis.transfer import histories  # noqa: PLC0415

        return histories.store(self._world.runs, found.history)

    def export_history(
        self, query: RunQuery, out: BinaryIO, *, format_name: str = "csv"
    ) -> Sequence[Problem]:
        """Write the values of the runs that a query finds for other tools; what could not be written."""
        from anubis.transfer import histories  # noqa: PLC0415

        findings = histories.Findings()
        rows = histories.stored(self._world.runs, self._world.points, query)
        wanted = (row for row in rows if query.metric in {None, row.metric})
        histories.export(wanted, out, findings, format_name=format_name)
        return findings.problems


@dataclass(frozen=True, slots=True)
class Outcome:
    """A final run and the value of each of its metrics."""

    run: Run
    #: Metric -> its point.
    values: Mapping[str, Point]


def run(
    file: str | Path,
    *,
    overrides: Mapping[str, str] | None = None,
    script: Path | None = None,
    rounds: int = 1,
) -> list[Outcome]:
    """Weigh one descriptor in this process, from a notebook for example; one outcome for each of its runs."""
    with Client.open() as client:
        runs = client.submit([Path(file)], overrides=overrides, script=script, rounds=rounds)
        ended = client.drive([run.id for run in runs])
        points = client.points([run.id for run in runs])
    return [
        Outcome(run, {point.metric: point for point in points if point.run_id == run.id}) for run in ended
    ]
