"""Access to a git repository: commits, their graph, and separate working trees."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anubis.model.errors import AnubisError, BadInputError

#: Hooks of the repository are disabled: a checkout must not run code.
_GIT = ("git", "-c", "core.hooksPath=/dev/null")
#: Why this process asks git nothing; empty: it asks.
_refusal: list[str] = []


def refuse(why: str) -> None:
    """Never call git in this process from now on.

    git runs programs that the configuration of a repository names (``core.fsmonitor``, filters), so it must not be called in
    folders that others may write.
    """
    _refusal[:] = [why]


def check_allowed() -> None:
    """Raise BadInputError if this process must not call git."""
    if _refusal:
        raise BadInputError(
            f"git cannot be asked: {_refusal[0]}",
            remedy="name the commit in subject.commit; the command line does it for the folder of the descriptor",
        )


def _git(folder: Path, *words: str) -> str:
    """The output of a git command. Raises BadInputError with the error message of git."""
    check_allowed()
    try:
        answer = subprocess.run(
            [*_GIT, "-C", str(folder), *words], capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise AnubisError(f"git cannot be run: {error.strerror}", remedy="install git") from error
    if answer.returncode:
        errors = answer.stderr.strip().splitlines() or [f"git {words[0]} failed"]
        raise BadInputError(f"{folder}: {errors[-1]}", remedy="check the repository and the commits")
    return answer.stdout


class Repository:
    """A git repository, found from any folder inside it."""

    def __init__(self, folder: Path) -> None:
        #: The top of the working tree.
        self.top = Path(_git(folder, "rev-parse", "--show-toplevel").strip())

    def commit(self, name: str) -> str:
        """The full id of a commit, tag or branch. Raises BadInputError if it does not exist."""
        try:
            return _git(
                self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
            ).strip()
        except BadInputError:
            raise BadInputError(
                f"{self.top} has no commit {name!r}",
                remedy="name a commit, a tag or a branch of the repository",
            ) from None

    def between(self, good: str, bad: str, *, all_parents: bool = False) -> dict[str, list[str]]:
        """``bad`` and its ancestors that are not ancestors of ``good``, each with its parents, parents first.

        Without ``all_parents`` only first parents are followed, so a merge counts as one commit. Raises BadInputError
        if ``good`` is not an ancestor of ``bad``.
        """
        if good == bad:
            raise BadInputError(f"good and bad are the same commit, {good[:12]}", remedy="name two commits")
        if _git(self.top, "merge-base", good, bad).strip() != good:
            raise BadInputError(
                f"{good[:12]} is not an ancestor of {bad[:12]}", remedy="name the older, good commit first"
            )
        only = () if all_parents else ("--first-parent",)
        listed = _git(self.top, "rev-list", "--parents", "--topo-order", "--reverse", *only, f"{good}..{bad}")
        graph = {}
        for line in listed.splitlines():
            commit, *parents = line.split()
            graph[commit] = parents if all_parents else parents[:1]
        return graph

    def about(self, commit: str) -> str:
        """Date, author and first line of a commit."""
        return _git(
            self.top, "log", "-1", "--no-show-signature", "--date=short", "--format=%ad %an: %s", commit
        ).strip()

    @contextmanager
    def checked_out(self, commit: str, folder: Path) -> Iterator[Path]:
        """A working tree of the commit in ``folder``, removed afterwards. An existing folder is replaced."""
        self._remove(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _git(self.top, "worktree", "add", "--detach", "--force", str(folder), commit)
        try:
            yield folder
        finally:
            self._remove(folder)

    def _remove(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        _git(self.top, "worktree", "prune")
