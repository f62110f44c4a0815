"""What a bisection is asked: from a descriptor file, or from an alert."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anubis.contracts.world import World
from anubis.model.alert import Alert, AlertRow
from anubis.model.errors import BadInputError
from anubis.model.identity import series_key
from anubis.model.run import Run
from anubis.submission.descriptor_files import read
from anubis.submission.git import Repository
from anubis.submission.subject import DIRTY
from anubis.submission.submit import Submission


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What changed between which commits, and how it is measured."""

    repository: Repository
    good: str
    bad: str
    metric: str
    #: What runs at every commit; its subject and folder are replaced.
    submission: Submission
    #: Where it runs, below the top of the repository.
    below: Path
    #: Follow every parent of a merge, not only the first.
    all_parents: bool = False
    #: Runs of one commit at most: more of them settle little, and cost as much as many commits.
    most_runs: int = 12
    min_effect: float = 0.02

    @property
    def family(self) -> str:
        """The id of the family that its runs belong to: the same question is the same bisection."""
        words = (
            str(self.repository.top),
            self.good,
            self.bad,
            self.metric,
            series_key(self.submission.descriptor),
        )
        digits = hashlib.sha256("\0".join(words).encode()).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-8000-8000-{digits[12:24]}"


def from_file(
    file: Path,
    good: str,
    bad: str,
    *,
    metric: str | None = None,
    repository: Path | None = None,
    overrides: Mapping[str, str],
) -> Question:
    """Between two commits, by what a descriptor file measures. Raises BadInputError for what cannot be asked."""
    submissions = list(read(file, overrides=overrides))
    if len(submissions) != 1:
        raise BadInputError(
            f"{file} describes {len(submissions)} runs, and a bisection measures one",
            remedy="fix the axes of its matrix with --set, for example --set env.vars.SIZE=2",
        )
    (submission,) = submissions
    _refuse_script(submission)
    inside = Repository(repository or file.resolve().parent)
    return Question(
        repository=inside,
        good=inside.commit(good),
        bad=inside.commit(bad),
        metric=metric or _only([each.name for each in submission.descriptor.output.metrics], file),
        submission=submission,
        below=_below(file.resolve().parent, inside),
    )


def from_alert(
    alert: Alert, world: World, *, metric: str | None = None, repository: Path | None = None
) -> Question:
    """Inside the range of an alert, by the run that it was first seen in.

    Raises BadInputError when the alert has no range, or its run left no trace on this machine.
    """
    if not (alert.last_old and alert.first_new):
        raise BadInputError(
            f"alert {alert.id} has no range of commits",
            remedy="set subject.commit in the descriptor from now on",
        )
    run = world.runs.get(alert.run_id)
    submission = Submission(descriptor=run.descriptor, text=world.runs.text(run.id))
    _refuse_script(submission)
    folder = repository or Path(run.folder or "")
    if not (repository or run.folder) or not folder.is_dir():
        raise BadInputError(
            f"run {run.id} was not submitted from a folder that is here",
            remedy="name the repository: anubis bisect --alert ALERT --repository DIR",
        )
    inside = Repository(folder)
    return Question(
        repository=inside,
        good=inside.commit(alert.last_old.removesuffix(DIRTY)),
        bad=inside.commit(alert.first_new.removesuffix(DIRTY)),
        metric=metric or _gravest(alert, run).metric,
        submission=submission,
        below=_below(Path(run.folder or ""), inside),
    )


def _refuse_script(submission: Submission) -> None:
    if submission.descriptor.ml.script:
        raise BadInputError(
            "the code of this benchmark came as an archive, so every commit would run the same",
            remedy="let benchmark_code run the code of the working tree, without --script",
        )


def _only(metrics: Sequence[str], file: Path) -> str:
    if len(metrics) != 1:
        shown = f"choose one of: {', '.join(metrics)}" if metrics else "name one with --metric"
        raise BadInputError(f"nothing says which metric of {file} is meant", remedy=shown)
    return metrics[0]


def _below(folder: Path, repository: Repository) -> Path:
    """Where a folder lies below the top of the repository; its top for a folder that is elsewhere."""
    resolved = folder.resolve()
    return resolved.relative_to(repository.top) if resolved.is_relative_to(repository.top) else Path()


def _gravest(alert: Alert, run: Run) -> AlertRow:
    """The row that moved most, of the run's own series."""
    rows = [row for row in alert.rows if row.series_key == run.series_key] or list(alert.rows)
    if not rows:
        raise BadInputError(f"alert {alert.id} is about no metric", remedy="look at the log of its run")
    return max(rows, key=lambda row: (row.kind is alert.kind, abs(row.effect)))
