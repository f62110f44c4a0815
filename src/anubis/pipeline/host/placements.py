"""Placements on this machine: found by their records, and visible only here."""

import logging
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path

from anubis.model.errors import RevokedError, disk_error
from anubis.model.run import Observation, Placement, Run
from anubis.pipeline.host import agent_record
from anubis.record import layout, liveness

log = logging.getLogger(__name__)

#: An agent of another process that has not appeared this long after it was first observed has failed to start.
APPEAR_S = 15.0


class HostPlacements:
    """The placements of one engine whose agents run on this machine."""

    def __init__(self, engine: str, folder: Path, records: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._records = records
        #: Placement -> monotonic time since which its agent is expected to appear.
        self._expected_s: dict[str, float] = {}

    def of(self, run: Run, record: str) -> Placement:
        """The placement of the attempt of a run, whose measured replica has this record."""
        name = f"{run.id}.{run.attempt}"
        return Placement(engine=self._engine, name=name, details={"record": record} | self._here)

    def placed(self, run: Run) -> Placement | None:
        """The placement of the attempt if a reconciler has begun to place it."""
        record = layout.role_folder(str(self._records), run.id, run.attempt)
        return self.of(run, record) if Path(record).exists() else None

    def revoke(self, run: Run) -> bool:
        """Ensure that this attempt never starts; False if it has started. Raises StoreError."""
        record = layout.role_folder(str(self._records), run.id, run.attempt)
        try:
            return agent_record.revoke(Path(record))
        except OSError as error:
            raise disk_error(f"{record} cannot be written", error) from error

    def is_here(self, placement: Placement) -> bool:
        """Whether it was placed on this machine and home folder: several of them can share a database."""
        return self._here.items() <= placement.details.items()

    def observe(
        self, placements: Iterable[Placement], look: Callable[[Placement], Observation]
    ) -> Mapping[str, Observation]:
        """Observe each placement of this machine. Leaves out one that cannot be observed now, for example for lack of memory."""
        seen = {}
        for placement in filter(self.is_here, placements):
            try:
                seen[placement.name] = look(placement)
            except Exception:  # affects no other placement
                log.exception("cannot observe placement %s", placement.name)
        return seen

    @staticmethod
    def agent_log(placement: Placement) -> bytes:
        """The end of the output of the agent itself."""
        return agent_record.agent_log(placement.details["record"])

    def may_appear(self, placement: Placement) -> bool:
        """Whether an agent that another process started may still appear. The wall clock may jump, so it does not count."""
        now_s = time.monotonic()
        waited_s = now_s - self._expected_s.setdefault(placement.name, now_s)
        return Path(placement.details["record"]).exists() and waited_s < APPEAR_S

    def appeared(self, placement: Placement) -> None:
        """Note that the state of the agent is known."""
        self._expected_s.pop(placement.name, None)

    @cached_property
    def _here(self) -> dict[str, str]:
        return {"host": socket.gethostname(), "folder": str(self._folder.resolve())}


def check_claim(record: str) -> None:
    """Raises RevokedError if the attempt with this record was revoked."""
    if liveness.is_revoked(record):
        agent_record.drop_ballast(Path(record))
        raise RevokedError(f"the claim of {record} was revoked before its agent had started")
