"""Sweeps of a service."""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from anubis.api.sweeps import progress_from_json, sweep_from_json
from anubis.client.protocol import sweeps as protocol
from anubis.client.remote import following, submission
from anubis.client.remote.connection import ServiceConnection
from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.model.errors import BadInputError, StoreError
from anubis.model.problem import Problem
from anubis.suites.sweep_state import SweepState

if TYPE_CHECKING:
    from anubis.describe.drafting import DescriptorText

#: Interval between looks at a sweep that is waited for, seconds.
LOOK_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class _Planned:
    """What the service planned, and from what."""

    body: Mapping[str, Any]
    cells: Sequence[protocol.SweepCell]


class Sweeps(protocol.Sweeps):
    """``Sweeps`` (see the protocol) over HTTP. The service submits the cells."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection
        #: By the id of the planned sweep.
        self._planned: dict[str, _Planned] = {}

    def plan(
        self,
        file: "Path | DescriptorText",
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        stores_script: bool = True,  # noqa: ARG002  the service plans with the archive
        max_parallel: int | None = None,
        warned: Callable[[Path, Problem], None] | None = None,
        overlays: Sequence[Path] = (),
    ) -> Sweep:
        descriptors = submission.Descriptors(warned)
        body = {
            "descriptor": descriptors.body(file, overrides=overrides or {}, overlays=overlays, cells=False),
            "overrides": dict(overrides or {}),
            "script": submission.stored_script(self._connection, script),
            "max_parallel": max_parallel,
        }
        answer = self._connection.post("sweeps/plans", body)
        descriptors.warn(answer["warnings"])
        sweep = sweep_from_json(answer["sweep"])
        cells = [protocol.SweepCell(**cell) for cell in answer["cells"]]
        self._planned[sweep.id] = _Planned(body, cells)
        return sweep

    def cells(self, sweep: Sweep) -> Sequence[protocol.SweepCell]:
        return self._plan_of(sweep).cells

    def start(self, sweep: Sweep) -> Sweep:
        planned = self._plan_of(sweep)
        return sweep_from_json(self._connection.post("sweeps", planned.body)["sweep"])

    def _plan_of(self, sweep: Sweep) -> _Planned:
        if sweep.id not in self._planned:
            raise BadInputError(f"sweep {sweep.id} was not planned by this client", remedy="plan it first")
        return self._planned[sweep.id]

    def wait(self, ref: str, changed: Callable[[SweepState], None] | None = None) -> SweepState:
        sweep_id, answered_s = self.get(ref).id, time.monotonic()
        while True:
            try:
                state = self.state(sweep_id)
            except StoreError:
                if time.monotonic() - answered_s > following.PATIENCE_S:
                    raise
            else:
                answered_s = time.monotonic()
                if changed:
                    changed(state)
                if state.sweep.phase is not SweepPhase.RUNNING:
                    return state
            time.sleep(LOOK_EVERY_S)

    def get(self, ref: str) -> Sweep:
        return sweep_from_json(self._connection.get(f"sweeps/{quote(ref, safe='')}"))

    def find(self, *, limit: int = 100) -> Sequence[Sweep]:
        return list(map(sweep_from_json, self._connection.get("sweeps", [("limit", str(limit))])["sweeps"]))

    def state(self, ref: str) -> SweepState:
        return progress_from_json(self._connection.get(f"sweeps/{quote(ref, safe='')}/state"))

    def pause(self, ref: str, *, why: str = "") -> Sweep:
        return sweep_from_json(self._connection.post(f"sweeps/{quote(ref, safe='')}/pause", {"why": why}))

    def cancel(self, ref: str, *, why: str = "") -> Sweep:
        return sweep_from_json(
            self._connection.post(f"sweeps/{quote(ref, safe='')}/cancellation", {"why": why})
        )

    def resume(self, ref: str) -> Sweep:
        return sweep_from_json(self._connection.post(f"sweeps/{quote(ref, safe='')}/resume", {}))

    def retry(self, ref: str, causes: Collection[str]) -> tuple[Sweep, int]:
        answer = self._connection.post(f"sweeps/{quote(ref, safe='')}/retry", {"causes": sorted(causes)})
        return sweep_from_json(answer["sweep"]), answer["repeated"]
