"""What a client follows, and how the next data of it are read."""

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from anubis.api.json_values import Json
from anubis.contracts.records import RecordKey, RoleFiles
from anubis.search.looking import FilesOf, Follower
from anubis.web import streams
from anubis.web.live.seen import Seen
from anubis.wiring import Installation


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a client follows."""

    installation: Installation
    run_id: str
    role: str | None
    rank: int | None
    #: What else is chosen: clients with equal choices get the same events.
    chosen: Hashable
    #: The follower of an attempt from its start.
    start: Callable[[FilesOf, int], Follower[Any]]
    #: The follower from a place as ``place_of`` reads it.
    resume: Callable[[FilesOf, Any], Follower[Any]]
    place_of: Callable[[str], Any]
    #: The place of the last event that the client got; None at its first request.
    place: Any
    #: Name of the events, and their data.
    kind: str
    to_json: Callable[[Any], Json]

    @property
    def key(self) -> Hashable:
        """Equal for clients that get the same events."""
        return self.kind, self.role, self.rank, self.chosen

    def files(self, attempt: int, role: str, rank: int) -> RoleFiles:
        """The files of a replica."""
        return RoleFiles(self.installation.world.records, RecordKey(self.run_id, attempt, role, rank))

    def of(self, replicas: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
        """The wanted ones of these replicas."""
        return [
            (role, rank) for role, rank in replicas if self.role in {None, role} and self.rank in {None, rank}
        ]

    def first(self, seen: Seen) -> Follower[Any]:
        """The follower at the place of the client, or of the current attempt."""
        if self.place is not None:
            return self.resume(self.files, self.place)
        return self.start(self.files, seen.run.attempt)

    def again(self, last_id: str) -> Follower[Any]:
        """The follower after the event with this id."""
        return self.resume(self.files, self.place_of(last_id))

    def next_attempt(self, follower: Follower[Any], seen: Seen) -> Follower[Any]:
        """The follower of the attempt after one that is over."""
        return self.start(self.files, min(follower.place.attempt + 1, seen.run.attempt))

    def event(self, follower: Follower[Any], found: Sequence[Json]) -> tuple[str, bytes]:
        """Id and text of the event with data that the follower has just read."""
        number = str(follower.place)
        data = {"attempt": follower.place.attempt, self.kind: found}
        return number, streams.event(number, self.kind, data).encode()

    def end(self, follower: Follower[Any], seen: Seen) -> tuple[str, bytes]:
        """The event after all others."""
        number = str(follower.place)
        return number, streams.event(number, "end", {"status": seen.run.status.value}).encode()


def include(wanted: Wanted, follower: Follower[Any], seen: Seen) -> bool:
    """Include the replicas that have appeared; whether the attempt writes no more."""
    attempt = follower.place.attempt
    if attempt == seen.run.attempt:
        follower.add(wanted.of(seen.replicas))
        return seen.run.status.final
    listed = wanted.installation.world.records.list(wanted.run_id, attempt)
    follower.add(wanted.of({(each.key.role, each.key.rank) for each in listed}))
    return True
