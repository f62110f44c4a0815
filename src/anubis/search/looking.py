"""Follows a run whose record is on this machine, by looks at its files."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from anubis.contracts.records import RecordKey, Records, RoleFiles
from anubis.contracts.runs import RunReader
from anubis.model.run import Run

Data_co = TypeVar("Data_co", covariant=True)
#: Interval between looks, seconds.
LOOK_EVERY_S = 0.1
#: The files of an attempt, a role and a rank.
FilesOf = Callable[[int, str, int], RoleFiles]


class Follower(Protocol[Data_co]):
    """What follows one attempt (``following``, ``samples``)."""

    @property
    def place(self) -> Any:
        """Where the next data begin."""
        ...

    def add(self, keys: Collection[tuple[str, int]]) -> None:
        """Include replicas: role and rank."""
        ...

    def batch(self, *, last: bool) -> Sequence[Data_co]:
        """The next data; none if there are no new ones. ``last``: the attempt writes no more."""
        ...


def followed(
    runs: RunReader,
    records: Records,
    run: Run,
    start: Callable[[FilesOf, int], Follower[Data_co]],
    *,
    role: str | None = None,
    rank: int | None = None,
) -> Iterator[Sequence[Data_co]]:
    """The data of the current attempt from its start, and of later attempts, until the run is final."""
    run_id = run.id

    def files(attempt: int, role: str, rank: int) -> RoleFiles:
        return RoleFiles(records, RecordKey(run_id, attempt, role, rank))

    attempt = run.attempt
    while True:
        follower = start(files, attempt)
        while True:
            over = run.status.final or run.attempt != attempt
            keys = {(each.key.role, each.key.rank) for each in records.list(run_id, attempt)}
            follower.add([key for key in keys if role in {None, key[0]} and rank in {None, key[1]}])
            while found := follower.batch(last=over):
                yield found
            if over:
                break
            time.sleep(LOOK_EVERY_S)
            run = runs.get(run_id)
        if run.attempt == attempt:
            return
        attempt += 1
