"""Sweeps in a database."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.plain import from_plain, to_plain
from anubis.store.sql.database import Database, Row, Session
from anubis.store.text import json_text, packed, unpacked

_CANDIDATES = 5
#: More sweeps than a home has.
_ALL = 1_000_000


class StoredSweeps:
    """``Sweeps`` (see the contract) in a database."""

    def __init__(self, database: Database, within: Sequence[str] | None = None) -> None:
        """``within``: names of the projects whose sweeps exist for the caller; None: all."""
        self._within = within
        self._database = database

    def put(self, sweep: Sweep) -> Sweep:
        new = replace(sweep, version=sweep.version + 1)
        values = {
            "id": new.id,
            "running": int(new.phase is SweepPhase.RUNNING),
            "created_s": new.created_s,
            "body": packed(json_text(to_plain(new))),
            "version": new.version,
            "expected": sweep.version,
        }

        def work(session: Session) -> bool:
            return bool(session.rows("put_sweep" if sweep.version == 0 else "change_sweep", **values))

        if not self._database.transact(work):
            raise ConflictError(f"another writer changed sweep {sweep.id}", remedy="try again")
        return new

    def get(self, sweep_id: str) -> Sweep:
        low = sweep_id.lower()
        rows = self._database.rows("sweep", prefix=low, most=_CANDIDATES + 1) if low else []
        found = list(filter(self._is_visible, map(_sweep_of, rows)))
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFoundError(
                f"no sweep has the id {sweep_id}", remedy="anubis sweep status --all lists them"
            )
        shown = ", ".join(sweep.id for sweep in found[:_CANDIDATES])
        raise NotFoundError(
            f"several sweeps begin with {sweep_id}: {shown}", remedy="give more digits of the id"
        )

    def running(self) -> Mapping[str, int]:
        return {row.id: row.version for row in self._database.rows("running_sweeps")}

    def find(self, *, limit: int = 100) -> Sequence[Sweep]:
        most = limit if self._within is None else _ALL
        rows = self._database.rows("newest_sweeps", most=most)
        return list(islice(filter(self._is_visible, map(_sweep_of, rows)), limit))

    def _is_visible(self, sweep: Sweep) -> bool:
        return self._within is None or sweep.project in self._within

    def remove(self, sweep_ids: Sequence[str]) -> None:
        if sweep_ids:
            self._database.rows("remove_sweeps", ids=list(sweep_ids))


def _sweep_of(row: Row) -> Sweep:
    plain: Any = json.loads(unpacked(row.body))
    return from_plain(Sweep, plain)
