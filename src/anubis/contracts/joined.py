"""Workers that joined this installation, and the attempts that wait for them or run there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from anubis.model.joined import Assignment, JoinedWorker


class JoinedWorkers(Protocol):
    """Joined workers. Names and attempts are unique; every change is fenced by a version."""

    def add(self, name: str, token: str, *, now_s: float) -> JoinedWorker:
        """Store the digest of a token for a name; an earlier token of that name is replaced."""
        ...

    def revoke(self, name: str, *, now_s: float) -> JoinedWorker:
        """Refuse the token from now on. Raises NotFoundError."""
        ...

    def get(self, name: str) -> JoinedWorker:
        """One worker. Raises NotFoundError."""
        ...

    def find(self) -> Sequence[JoinedWorker]:
        """All workers by name."""
        ...

    def of_token(self, token: str) -> JoinedWorker | None:
        """The worker whose token has this digest."""
        ...

    def beat(self, reported: JoinedWorker, *, now_s: float) -> JoinedWorker:
        """Store what a worker reports, and that it is alive. Raises ConflictError if its token was replaced meanwhile."""
        ...

    def queue(self, assignment: Assignment) -> Assignment:
        """Store a new attempt; the stored one if there is one already."""
        ...

    def take(self, worker: JoinedWorker, choose: "Choose", *, now_s: float) -> Sequence[Assignment]:
        """Assign waiting attempts to a worker; all open attempts that it has then, in the order in which it got them.

        Two workers never get the same attempt. ``choose`` must not use the store.
        """
        ...

    def assigned(self, worker: str) -> Sequence[Assignment]:
        """The open attempts of a worker, in the order in which it got them."""
        ...

    def open(self) -> Sequence[Assignment]:
        """All open attempts: those that wait in the order in which they are assigned, and those of all workers."""
        ...

    def get_attempt(self, run_id: str, attempt: int) -> Assignment | None:
        """The attempt; None: it was never queued."""
        ...

    def attempts(self, names: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], Assignment]:
        """Those of these attempts that were queued, by run id and attempt."""
        ...

    def change(self, assignment: Assignment) -> Assignment:
        """Store a new state of an open attempt. Raises ConflictError if it was changed after it was read."""
        ...

    def close_silent(self, assignment: Assignment, *, beats: int) -> Assignment | None:
        """Store a closed state; None if it was changed, or its worker has sent a request since it had sent so many."""
        ...


#: Which of the open attempts (the first argument) a worker gets, in this order.
Choose = Callable[[Sequence[Assignment]], Sequence[Assignment]]
