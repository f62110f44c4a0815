"""Streams of the output and of the samples of a run: events that a client resumes after a cut or a restart."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool

from anubis.contracts.records import RecordKey, RoleFiles
from anubis.model.errors import AnubisError
from anubis.record.validation import DamagedError
from anubis.search.following import Place, RunFollower, line_to_json
from anubis.web import streams
from anubis.web.watching import Seen, Watches
from anubis.wiring import Installation


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The output that a client wants."""

    streams: Sequence[str]
    role: str | None
    rank: int | None

    def of(self, replicas: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
        """The wanted ones of these replicas."""
        return [
            (role, rank) for role, rank in replicas if self.role in {None, role} and self.rank in {None, rank}
        ]


async def output(
    installation: Installation,
    watches: Watches,
    run_id: str,
    *,
    wanted: Wanted,
    place: Place | None,
) -> AsyncIterator[str]:
    """The lines after a place (None: all of the current attempt) until the run is final, also those of later attempts.

    The next lines are read when the client has taken the last ones, so a slow client needs no more memory than a fast one.
    """
    with watches.follow(installation, run_id) as watch:
        try:
            seen = await watch.first()
            follower = _follower(installation, run_id, place or Place(seen.run.attempt), wanted)
            while not watches.closed:
                over = await _include(installation, run_id, follower, wanted, seen)
                while found := await run_in_threadpool(follower.batch, last=over):
                    plain = list(map(line_to_json, found))
                    data = {"attempt": follower.place.attempt, "lines": plain}
                    yield streams.event(str(follower.place), "lines", data)
                if follower.place.attempt != seen.run.attempt:
                    following = min(follower.place.attempt + 1, seen.run.attempt)
                    follower = _follower(installation, run_id, Place(following), wanted)
                    continue
                if over:
                    yield streams.event(str(follower.place), "end", {"status": seen.run.status.value})
                    return
                newer = await watch.after(seen.version, streams.ALIVE_EVERY_S)
                if newer is None:
                    yield streams.ALIVE
                else:
                    seen = newer
        except (AnubisError, DamagedError):  # the client resumes when the store answers
            return


async def _include(
    installation: Installation, run_id: str, follower: RunFollower, wanted: Wanted, seen: Seen
) -> bool:
    """Include the replicas that have appeared; whether the attempt writes no more."""
    attempt = follower.place.attempt
    if attempt == seen.run.attempt:
        follower.add(wanted.of(seen.replicas))
        return seen.run.status.final
    listed = await run_in_threadpool(installation.world.records.list, run_id, attempt)
    follower.add(wanted.of({(each.key.role, each.key.rank) for each in listed}))
    return True


def _follower(installation: Installation, run_id: str, place: Place, wanted: Wanted) -> RunFollower:
    records = installation.world.records

    def files(attempt: int, role: str, rank: int) -> RoleFiles:
        return RoleFiles(records, RecordKey(run_id, attempt, role, rank))

    return RunFollower(files, place, wanted.streams)
