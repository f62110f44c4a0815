"""The cells of a stored sweep: their values, their descriptors and their runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from anubis.contracts.sweeps import Sweep
from anubis.describe.matrix.axes import combinations
from anubis.describe.matrix.cells import cell_reader
from anubis.model.descriptor import Descriptor, Subject
from anubis.model.errors import BadInputError
from anubis.model.identity import digest, in_project, series_key
from anubis.model.ids import derived_run_id
from anubis.model.run import Event, Run
from anubis.submission import subject
from anubis.submission.submit import Submission, run_of

#: Name of the coordinate of a repeated cell: the number of its try.
TRY = "try"


def run_id_of(sweep: Sweep, position: int) -> str:
    """The id of the run of the current try of a cell."""
    number = sweep.tries.get(str(position), 1)
    words = f"cell {sweep.cells[position]} try {number}"
    return derived_run_id(sweep.id, words, position + len(sweep.cells) * (number - 1))


class SweepCells:
    """The cells of one sweep. Descriptors are built one at a time, when they are needed."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        assert sweep.descriptor.matrix is not None
        #: Axis -> value of every cell, in the order of ``Sweep.cells``.
        self.values: Sequence[Mapping[str, Any]] = list(combinations(sweep.descriptor.matrix))
        self._subjects: dict[Subject, tuple[Subject, float | None]] = {}

    @cached_property
    def _read(self) -> Any:
        return cell_reader(self.sweep.descriptor)

    def descriptor(self, position: int) -> Descriptor:
        """The descriptor of a cell."""
        return self._submission(position).descriptor

    def digests(self) -> tuple[str, ...]:
        """The digest of every cell."""
        return tuple(digest(self.descriptor(position)) for position in range(len(self.values)))

    def run(self, position: int, now_s: float) -> tuple[tuple[Run, str], Event]:
        """The run of the current try of a cell with its text, and its first event.

        Raises BadInputError if the cell is not the one that was planned.
        """
        sweep, submission = self.sweep, self._submission(position)
        identity = digest(submission.descriptor), series_key(submission.descriptor)
        if identity[0] != sweep.cells[position]:
            raise BadInputError(
                f"cell {position + 1} of the sweep is no longer what was planned: its commit or its descriptor differs",
                remedy="plan a new sweep with anubis sweep run",
            )
        run_id = run_id_of(sweep, position)
        new = run_of(submission, identity, sweep.id, sweep.owner, now_s, run_id=run_id)
        run = in_project(new, sweep.project)
        event = Event(
            run_id=run.id, kind="submitted", time_s=now_s, actor=sweep.owner, data={"cell": dict(run.cell)}
        )
        return (run, sweep.text), event

    def _submission(self, position: int) -> Submission:
        sweep, values = self.sweep, self.values[position]
        descriptor = self._read(values)
        tested, order_s = self._resolved(descriptor.subject)
        number = sweep.tries.get(str(position), 1)
        return Submission(
            descriptor=replace(descriptor, subject=tested),
            order_s=order_s,
            text=sweep.text,
            cell={**values, **({TRY: number} if number > 1 else {})},
            folder=sweep.folder,
            overrides=sweep.overrides,
        )

    def _resolved(self, named: Subject) -> tuple[Subject, float | None]:
        if named not in self._subjects:
            folder = Path(self.sweep.folder or ".")
            tested = subject.resolve(named, folder)
            self._subjects[named] = tested, subject.order_s(tested, folder)
        return self._subjects[named]
