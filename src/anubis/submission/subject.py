"""What is under test: ``commit = "auto"`` becomes the commit of the working tree around the descriptor."""

import subprocess
from dataclasses import replace
from pathlib import Path

from anubis.model.descriptor import Subject
from anubis.model.errors import BadInputError

AUTO = "auto"
DIRTY = "-dirty"

#: Ancestors of a commit that are read to find its place; beyond them dates alone decide.
DEPTH = 10_000


def resolve(subject: Subject, folder: Path) -> Subject:
    """The subject with its commit looked up; ``-dirty`` marks a tree with changes to tracked files.

    Raises BadInputError when the folder is in no git working tree.
    """
    if subject.commit != AUTO:
        return subject
    commit = _git(folder, "rev-parse", "HEAD")
    dirty = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return replace(subject, commit=f"{commit}{DIRTY}" if dirty else commit)


def order_s(subject: Subject, folder: Path) -> float | None:
    """Corrected commit date of the subject, UTC seconds: later than that of every ancestor, whatever the clocks said.

    It is the committer date, or one second more than the latest corrected date of a parent if that is later (git's
    "corrected commit date", see gitformat-commit-graph). Commits of one second, as a rebase makes them, and commits
    dated before their parents therefore keep the order of their ancestry. None if the commit is not in the working
    tree around ``folder``.
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
            "--end-of-options",  # a commit that begins with a dash is no option of git
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
    try:
        answer = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BadInputError(
            f'subject.commit is "auto", but {folder} is in no git working tree with a commit',
            remedy="name the commit, or remove subject.commit",
        ) from error
    return answer.stdout.strip()
