"""The request for a bisection, made from a descriptor file or from an alert."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anubis.model.alert import Alert, AlertRow
from anubis.model.errors import BadInputError
from anubis.model.identity import series_key
from anubis.model.run import Run
from anubis.submission.descriptor_files import read
from anubis.submission.git import Repository
from anubis.submission.subject import DIRTY
from anubis.submission.submit import Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectRequest:
    """The commits to search between, the metric that changed, and how it is measured."""

    repository: Repository
    good: str
    bad: str
    metric: str
    #: The benchmark to run at every commit; subject and folder are replaced.
    submission: Submission
    #: Working folder of the benchmark, relative to the top of the repository.
    below: Path
    #: Follow every parent of a merge, not only the first.
    all_parents: bool = False
    #: Maximum number of runs of one commit.
    max_runs: int = 12
    min_effect: float = 0.02
    #: The run whose recorded environment its runs repeat; None: they have the environment of this process.
    run_id: str | None = None

    @property
    def family(self) -> str:
        """The family id of its runs; equal requests have the same id, so that a bisection can continue."""
        parts = (
            str(self.repository.top),
            self.good,
            self.bad,
            self.metric,
            series_key(self.submission.descriptor),
        )
        return family_id(*parts)


def family_id(*parts: str) -> str:
    """An id of a family that follows from these parts."""
    digits = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8000-8000-{digits[12:24]}"


def from_file(
    file: Path,
    good: str,
    bad: str,
    *,
    metric: str | None = None,
    repository: Path | None = None,
    overrides: Mapping[str, str],
) -> BisectRequest:
    """A request to search between two commits with the benchmark of a descriptor file. Raises BadInputError."""
    submissions = list(read(file, overrides=overrides))
    if len(submissions) != 1:
        raise BadInputError(
            f"{file} describes {len(submissions)} runs, but a bisection needs exactly one",
            remedy="fix the axes of its matrix with --set, for example --set env.vars.SIZE=2",
        )
    (submission,) = submissions
    _refuse_script(submission)
    repo = Repository(repository or file.resolve().parent)
    return BisectRequest(
        repository=repo,
        good=repo.commit(good),
        bad=repo.commit(bad),
        metric=metric or _only([each.name for each in submission.descriptor.output.metrics], file),
        submission=submission,
        below=_below(file.resolve().parent, repo),
    )


def from_alert(
    alert: Alert, run: Run, text: str, *, metric: str | None = None, repository: Path | None = None
) -> BisectRequest:
    """A request to search the commit range of an alert with the benchmark of its run, which has this text.

    Raises BadInputError if the alert has no range, or if the repository of the run is not on this machine.
    """
    if not (alert.last_old and alert.first_new):
        raise BadInputError(
            f"alert {alert.id} has no range of commits",
            remedy='set subject.commit = "auto" in the descriptor for future runs',
        )
    submission = Submission(descriptor=run.descriptor, text=text, overrides=run.overrides)
    _refuse_script(submission)
    folder = repository or Path(run.folder or "")
    if not (repository or run.folder) or not folder.is_dir():
        raise BadInputError(
            f"the folder from which run {run.id} was submitted does not exist here",
            remedy="name the repository: anubis bisect --alert ALERT --repository DIR",
        )
    repo = Repository(folder)
    return BisectRequest(
        repository=repo,
        good=repo.commit((alert.earliest_old or alert.last_old).removesuffix(DIRTY)),
        bad=repo.commit((alert.latest_new or alert.first_new).removesuffix(DIRTY)),
        metric=metric or _largest_change(alert, run).metric,
        submission=submission,
        below=_below(Path(run.folder or ""), repo),
        run_id=run.id,
    )


def _refuse_script(submission: Submission) -> None:
    if submission.descriptor.ml.script:
        raise BadInputError(
            "the code of this benchmark is a script archive, so every commit would run the same code",
            remedy="run the code of the working tree in ml.benchmark_code, without --script",
        )


def _only(metrics: Sequence[str], file: Path) -> str:
    if len(metrics) != 1:
        remedy = f"choose one with --metric: {', '.join(metrics)}" if metrics else "name one with --metric"
        raise BadInputError(
            f"the metric to bisect is not given, and {file} does not declare exactly one", remedy=remedy
        )
    return metrics[0]


def _below(folder: Path, repository: Repository) -> Path:
    """The folder relative to the top of the repository; the top itself for a folder outside the repository."""
    resolved = folder.resolve()
    return resolved.relative_to(repository.top) if resolved.is_relative_to(repository.top) else Path()


def _largest_change(alert: Alert, run: Run) -> AlertRow:
    """The row with the largest effect among those of the run's series."""
    rows = [row for row in alert.rows if row.series_key == run.series_key] or list(alert.rows)
    if not rows:
        raise BadInputError(f"alert {alert.id} has no metric", remedy="see the log of its run")
    return max(rows, key=lambda row: (row.kind is alert.kind, abs(row.effect)))
