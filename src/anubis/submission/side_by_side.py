"""What treats the sides of a comparison differently although their code does not."""

import os
from collections.abc import Iterator, Sequence

from anubis.model.problem import Problem, Severity
from anubis.model.run import Run


def differences(runs: Sequence[Run], *, rounds: int, in_folders: bool) -> Iterator[Problem]:
    """Warnings about the runs of several files that are measured in rounds.

    ``in_folders``: they are executed in their working folders, not in containers.
    """
    if len({run.cell["file"] for run in runs if "file" in run.cell}) < 2:
        return
    if rounds > 1 and rounds % 2:
        yield Problem(
            path="",
            message=f"with {rounds} rounds the first file is measured first once more often than the others",
            remedy="use an even number of rounds",
            severity=Severity.WARNING,
        )
    lengths = {len(os.fsencode(run.folder)): run.folder for run in runs if run.folder is not None}
    if in_folders and len(lengths) > 1:
        few, most = min(lengths), max(lengths)
        yield Problem(
            path="",
            message=f"the paths of {lengths[few]} and {lengths[most]} differ in length ({few} and {most} bytes),"
            " which can change the speed of a program",
            remedy="use working folders whose paths have the same length, such as ../old and ../new",
            severity=Severity.WARNING,
        )
