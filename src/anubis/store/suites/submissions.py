"""Submissions: small ones that arrive together are stored together, and those with a key are stored once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from anubis.contracts.runs import KeyedSubmission
from anubis.model.errors import ConflictError
from anubis.model.run import Event, Run
from anubis.store.adding import adding
from anubis.store.dictionaries import Dictionaries
from anubis.store.sql.database import Database, Row, Session
from anubis.store.sql.grouping import Grouping
from anubis.store.text import json_text

#: How long a key is kept after its submission, seconds.
KEPT_S = 7 * 86_400.0
#: Submissions with more runs are stored alone: others do not wait for them.
_MOST_RUNS = 10
#: Most submissions in one transaction.
_MOST_TOGETHER = 50


@dataclass(frozen=True, slots=True)
class Submitted:
    """New runs of one submission, each with the text of its descriptor, and their events."""

    runs: Sequence[tuple[Run, str]]
    events: Sequence[Event]
    keyed: KeyedSubmission | None


class Submissions:
    """Stores submissions. Used by several threads."""

    def __init__(self, database: Database, dictionaries: Dictionaries) -> None:
        self._database = database
        self._dictionaries = dictionaries
        self._together = Grouping(self._store, most=_MOST_TOGETHER)

    def add(self, submitted: Submitted) -> None:
        """Store a submission. Raises ConflictError if another one with its key is stored."""
        if len(submitted.runs) > _MOST_RUNS:
            self._store([submitted])
        else:
            self._together.store(submitted)

    def _store(self, group: Sequence[Submitted]) -> None:
        runs = [run for submitted in group for run in submitted.runs]
        events = [event for submitted in group for event in submitted.events]
        keys = [submitted.keyed for submitted in group if submitted.keyed is not None]
        add = adding(self._dictionaries, runs, events=events)

        def work(session: Session) -> None:
            if keys:
                _keep(session, keys)
            add(session)

        self._database.transact(work)


def _keep(session: Session, keys: Sequence[KeyedSubmission]) -> None:
    """Store keys. Raises ConflictError if one belongs to another submission.

    If it belongs to the same one, this call stored it before, and the answer of the database was lost.
    """
    # Locks the row that ``adding`` locks first too, so two submissions cannot wait for each other.
    session.rows("count_events", count=0)
    session.write("forget_submissions", before_s=keys[0].created_s - KEPT_S)
    for keyed in keys:
        values = {
            "key": keyed.key,
            "digest": keyed.digest,
            "runs": json_text(keyed.run_ids),
            "created_s": keyed.created_s,
        }
        if not session.rows("add_submission", **values):
            (stored,) = session.rows("submission", key=keyed.key)
            if submission_of(stored) != keyed:
                raise ConflictError(
                    f"a submission with the key {keyed.key!r} is stored",
                    remedy="use a new key for another submission",
                )


def submission_of(row: Row) -> KeyedSubmission:
    """The submission of a row."""
    return KeyedSubmission(
        key=row.key, digest=row.digest, run_ids=tuple(json.loads(row.runs)), created_s=row.created_s
    )
