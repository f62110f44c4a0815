"""Streams of the output and of the samples of a run: events that a client resumes after a cut or a restart."""

from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool

from anubis.api.json_values import Json
from anubis.contracts.records import RecordKey, RoleFiles
from anubis.model.errors import AnubisError
from anubis.record.validation import DamagedError
from anubis.search.looking import FilesOf, Follower
from anubis.web import streams
from anubis.web.watching import Seen, Watches
from anubis.wiring import Installation


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a client follows."""

    installation: Installation
    run_id: str
    role: str | None
    rank: int | None
    #: The follower of an attempt from its start.
    start: Callable[[FilesOf, int], Follower[Any]]
    #: The follower from the place of the last event that the client got; None at its first request.
    resume: Callable[[FilesOf], Follower[Any]] | None
    #: Name of the events, and their data.
    kind: str
    to_json: Callable[[Any], Json]

    def files(self, attempt: int, role: str, rank: int) -> RoleFiles:
        """The files of a replica."""
        return RoleFiles(self.installation.world.records, RecordKey(self.run_id, attempt, role, rank))

    def of(self, replicas: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
        """The wanted ones of these replicas."""
        return [
            (role, rank) for role, rank in replicas if self.role in {None, role} and self.rank in {None, rank}
        ]


async def followed(watches: Watches, wanted: Wanted) -> AsyncIterator[str]:
    """Events until the run is final, also those of later attempts.

    The next data are read when the client has taken the last ones, so a slow client needs no more memory than a fast one.
    """
    with watches.follow(wanted.installation, wanted.run_id) as watch:
        try:
            seen = await watch.first()
            follower = await run_in_threadpool(_first, wanted, seen)
            while not watches.closed:
                over = await run_in_threadpool(_include, wanted, follower, seen)
                while found := await run_in_threadpool(follower.batch, last=over):
                    data = {"attempt": follower.place.attempt, wanted.kind: list(map(wanted.to_json, found))}
                    yield streams.event(str(follower.place), wanted.kind, data)
                if follower.place.attempt != seen.run.attempt:
                    attempt = min(follower.place.attempt + 1, seen.run.attempt)
                    follower = wanted.start(wanted.files, attempt)
                elif over:
                    yield streams.event(str(follower.place), "end", {"status": seen.run.status.value})
                    return
                elif newer := await watch.after(seen.version, streams.ALIVE_EVERY_S):
                    seen = newer
                else:
                    yield streams.ALIVE
        except (AnubisError, DamagedError):  # the client resumes when the store answers
            return


def _first(wanted: Wanted, seen: Seen) -> Follower[Any]:
    if wanted.resume is not None:
        return wanted.resume(wanted.files)
    return wanted.start(wanted.files, seen.run.attempt)


def _include(wanted: Wanted, follower: Follower[Any], seen: Seen) -> bool:
    """Include the replicas that have appeared; whether the attempt writes no more."""
    attempt = follower.place.attempt
    if attempt == seen.run.attempt:
        follower.add(wanted.of(seen.replicas))
        return seen.run.status.final
    listed = wanted.installation.world.records.list(wanted.run_id, attempt)
    follower.add(wanted.of({(each.key.role, each.key.rank) for each in listed}))
    return True
