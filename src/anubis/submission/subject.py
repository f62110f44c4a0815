"""The subject of a run: ``commit = "auto"`` is replaced by the commit of the working tree of the descriptor."""

import subprocess
from dataclasses import replace
from pathlib import Path

from anubis.model.descriptor import Subject
from anubis.model.errors import BadInputError

AUTO = "auto"
DIRTY = "-dirty"

#: Number of ancestors that are examined for the corrected commit date.
DEPTH = 1000


def resolve(subject: Subject, folder: Path) -> Subject:
    """The subject with its resolved commit; ``-dirty`` marks a tree with changes to tracked files.

    Raises BadInputError if the folder is not in a git working tree.
    """
    if subject.commit != AUTO:
        return subject
    commit = _git(folder, "rev-parse", "HEAD")
    dirty = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return replace(subject, commit=f"{commit}{DIRTY}" if dirty else commit)


def order_s(subject: Subject, folder: Path) -> float | None:
    """Corrected commit date of the subject: the latest committer date among it and its first-parent ancestors.

    With this date a commit with a wrong clock is never before its parents ("corrected commit date", see
    gitformat-commit-graph). None if the commit is not in the working tree of ``folder``.
    """
    if not subject.commit:
        return None
    try:
        dates = _git(
            folder,
            "log",
            "--first-parent",
            f"--max-count={DEPTH}",
            "--format=%ct",
            "--end-of-options",  # a commit name that begins with a dash is not an option
            subject.commit.removesuffix(DIRTY),
        )
    except BadInputError:
        return None
    return float(max(int(date) for date in dates.split()))


def _git(folder: Path, *words: str) -> str:
    try:
        answer = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BadInputError(
            f'subject.commit is "auto", but {folder} is not in a git working tree with a commit',
            remedy="name the commit, or remove subject.commit",
        ) from error
    return answer.stdout.strip()
