"""An engine that a test controls."""

import math
from collections.abc import Iterator, Mapping, Sequence

from anubis.contracts.engine import Capabilities, Mounting
from anubis.model.errors import AnubisError, NoCapacityError, RevokedError
from anubis.model.hardware import Strategy
from anubis.model.launch import Launch
from anubis.model.run import Observation, Placement, Run, Seen


class FakeEngine:
    """``Engine`` that starts no processes: a placement counts as running until the test ends it."""

    name = "fake"
    capabilities = Capabilities(
        strategies=frozenset(Strategy),
        mounting=Mounting(agent=("agent",), inside="/anubis", address="{role}-{rank}"),
        images=True,
        privileged=True,
        data=True,
        instance_types=True,
        gpus=math.inf,
        cpus=math.inf,
        memory_gb=math.inf,
        zones=True,
        custom_params=True,
        isolate_place=True,
    )

    def __init__(self, *, room: int | None = None) -> None:
        #: Largest number of placements that run at the same time; None: unlimited.
        self.room = room
        #: Error that the next ``place`` or ``observe`` raises, once.
        self.trouble: AnubisError | None = None
        #: Placement name -> its observation.
        self.seen: dict[str, Observation] = {}
        #: Launches of all placements, by placement name.
        self.launches: dict[str, Launch] = {}
        self.log: dict[str, bytes] = {}
        #: Names of placements that are visible only on another machine.
        self.elsewhere: set[str] = set()
        #: Names of placements that never start.
        self.revoked: set[str] = set()

    def placed(self, run: Run) -> Placement | None:
        placement = self._placement(run)
        return placement if placement.name in self.launches else None

    def place(self, run: Run, launch: Launch) -> Placement:
        self._raise_trouble()
        placement = self._placement(run)
        if placement.name in self.launches:
            return placement
        if placement.name in self.revoked:
            raise RevokedError(f"placement {placement.name} was revoked")
        running = sum(seen.seen in {Seen.WAITING, Seen.RUNNING} for seen in self.seen.values())
        if self.room is not None and running >= self.room:
            raise NoCapacityError("no capacity is left", again_after_s=1.0, remedy="wait")
        self.launches[placement.name] = launch
        self.seen[placement.name] = Observation(seen=Seen.RUNNING)
        return placement

    def revoke(self, run: Run) -> bool:
        if self.placed(run):
            return False
        self.revoked.add(self._placement(run).name)
        return True

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        self._raise_trouble()
        lost = Observation(seen=Seen.LOST, reason="never placed here")
        names = [placement.name for placement in placements if placement.name not in self.elsewhere]
        return {name: self.seen.get(name, lost) for name in names}

    def cancel(self, placement: Placement) -> None:
        """End the placement with exit code 143, as a process ends after SIGTERM."""
        seen = self.seen.get(placement.name)
        if seen and seen.seen in {Seen.WAITING, Seen.RUNNING}:
            self.end(placement, exit_code=143)

    def logs(self, placement: Placement) -> Iterator[bytes]:
        yield from [self.log[placement.name]] if placement.name in self.log else []

    def end(self, placement: Placement, *, exit_code: int = 0, **more: object) -> None:
        """Set the placement's observation to ended; ``more`` are fields of Observation."""
        self.seen[placement.name] = Observation(seen=Seen.ENDED, exit_code=exit_code, **more)  # type: ignore[arg-type]

    def lose(self, placement: Placement) -> None:
        """Set the placement's observation to lost."""
        self.seen[placement.name] = Observation(seen=Seen.LOST, reason="the machine no longer exists")

    def _placement(self, run: Run) -> Placement:
        return Placement(engine=self.name, name=f"{run.id}-{run.attempt}")

    def _raise_trouble(self) -> None:
        if self.trouble:
            trouble, self.trouble = self.trouble, None
            raise trouble
