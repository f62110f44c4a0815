"""The subject of a run: ``commit = "auto"`` is replaced by the commit of the working tree of the descriptor."""

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from anubis.model.descriptor import Subject
from anubis.model.errors import BadInputError
from anubis.submission.git import check_allowed

AUTO = "auto"
DIRTY = "-dirty"

#: Number of ancestors that are examined for the corrected commit date; older ones are ordered by their dates alone.
DEPTH = 10_000


def resolve(subject: Subject, folder: Path) -> Subject:
    """The subject with its resolved commit; ``-dirty`` marks a tree with changes to tracked files.

    Raises BadInputError if the folder is not in a git working tree.
    """
    if subject.commit != AUTO:
        return subject
    commit = _git(folder, "rev-parse", "HEAD")
    dirty = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return replace(subject, commit=f"{commit}{DIRTY}" if dirty else commit)


def looked_up(
    subject: Subject, folder: Path, known: Mapping[str, tuple[str, float | None]]
) -> tuple[Subject, float | None]:
    """The resolved subject and its position; from ``known`` (see ``DescriptorText.commits``) if it contains the commit."""
    if subject.commit and subject.commit in known:
        commit, position_s = known[subject.commit]
        return replace(subject, commit=commit), position_s
    tested = resolve(subject, folder)
    return tested, order_s(tested, folder)


def order_s(subject: Subject, folder: Path) -> float | None:
    """Corrected commit date of the subject, UTC seconds: later than that of every ancestor.

    It is the committer date, or one second more than the latest corrected date of a parent if that is later ("corrected
    commit date", see gitformat-commit-graph). So commits of one second, as a rebase makes them, and commits dated before
    their parents keep the order of their ancestry. None if the commit is not in the working tree of ``folder``.
    """
    if not subject.commit:
        return None
    try:
        listed = _git(
            folder,
            "log",
            "--topo-order",
            f"--max-count={DEPTH}",
            "--format=%H %ct %P",
            "--end-of-options",  # a commit name that begins with a dash is not an option
            subject.commit.removesuffix(DIRTY),
        )
    except BadInputError:
        return None
    corrected: dict[str, int] = {}
    for line in reversed(listed.splitlines()):  # parents first
        commit, date, *parents = line.split()
        corrected[commit] = max(int(date), *(corrected.get(parent, 0) + 1 for parent in parents), 0)
    return float(corrected[commit])


def _git(folder: Path, *words: str) -> str:
    check_allowed()
    try:
        answer = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BadInputError(
            f'subject.commit is "auto", but {folder} is not in a git working tree with a commit',
            remedy="name the commit, or remove subject.commit",
        ) from error
    return answer.stdout.strip()
