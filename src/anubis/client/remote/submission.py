"""Descriptors and scripts of this machine in the form in which a service takes them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anubis import describe
from anubis.api.problems import problem_from_json
from anubis.client.remote.connection import ServiceConnection
from anubis.describe.drafting import DescriptorText
from anubis.model.descriptor import Subject
from anubis.model.problem import Problem
from anubis.submission import script_archive, subject
from anubis.submission.descriptor_files import descriptor_of, stored

Warned = Callable[[Path, Problem], None]


class Descriptors:
    """Reads descriptor files, and passes on each warning once: the service reads the texts again."""

    def __init__(self, warned: Warned | None) -> None:
        self._warned = warned
        self._known: set[tuple[str, str]] = set()

    def body(
        self,
        file: Path | DescriptorText,
        *,
        overrides: Mapping[str, str],
        overlays: Sequence[Path] = (),
        cells: bool = True,
    ) -> dict[str, Any]:
        """The text of a descriptor with the files that it extends, and what git says about its commits.

        ``cells``: about those of every cell of its matrix. Raises BadInputError with all problems.
        """
        text, descriptor, title, folder = descriptor_of(
            file, overrides=overrides, warned=self._warn, overlays=overlays
        )
        given = dict(file.commits) if isinstance(file, DescriptorText) else {}
        named = (
            [cell.descriptor.subject for cell in describe.cells(descriptor)]
            if cells
            else [descriptor.subject]
        )
        return {
            "text": text,
            "name": title,
            "folder": stored(folder.absolute()),
            "commits": _commits(named, folder, given),
        }

    def warn(self, warnings: Sequence[Mapping[str, Any]]) -> None:
        """Pass on the warnings of the service."""
        for plain in warnings:
            problem = problem_from_json(plain)
            if self._warned and (problem.path, problem.message) not in self._known:
                self._warned(Path(plain["descriptor"]), problem)

    def _warn(self, file: Path, problem: Problem) -> None:
        self._known.add((problem.path, problem.message))
        if self._warned:
            self._warned(file, problem)


def _commits(
    subjects: Sequence[Subject], folder: Path, given: Mapping[str, tuple[str, float | None]]
) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for each in dict.fromkeys(subjects):
        if each.commit and each.commit not in known:
            tested, position_s = subject.looked_up(each, folder, given)
            known[each.commit] = {"commit": tested.commit, "order_s": position_s}
    return known


def stored_script(connection: ServiceConnection, script: Path | str | None) -> str | None:
    """The key of the archive of a file or folder, which the service then has; a key is returned as it is."""
    if script is None or isinstance(script, str):
        return script
    key, content = script_archive.archive(script)
    connection.upload("PUT", f"scripts/{key}", content)
    return key
