"""Submissions with a key, which store their runs once."""

import json
from collections.abc import Callable
from typing import TypeVar

from anubis.contracts.runs import KeyedSubmission
from anubis.model.errors import ConflictError
from anubis.store.sql.database import Row, Session
from anubis.store.text import json_text

T = TypeVar("T")
#: How long a key is kept after its submission, seconds.
KEPT_S = 7 * 86_400.0


def once(keyed: KeyedSubmission, work: Callable[[Session], T]) -> Callable[[Session], T]:
    """``work`` in a transaction that also stores the key. Raises ConflictError if the key is stored."""

    def work_once(session: Session) -> T:
        # Locks the row that ``work`` locks first too, so two submissions cannot wait for each other.
        session.rows("count_events", count=0)
        session.write("forget_submissions", before_s=keyed.created_s - KEPT_S)
        values = {
            "key": keyed.key,
            "digest": keyed.digest,
            "runs": json_text(keyed.run_ids),
            "created_s": keyed.created_s,
        }
        if not session.rows("add_submission", **values):
            raise ConflictError(
                f"a submission with the key {keyed.key!r} is stored",
                remedy="use a new key for another submission",
            )
        return work(session)

    return work_once


def submission_of(row: Row) -> KeyedSubmission:
    """The submission of a row."""
    return KeyedSubmission(
        key=row.key, digest=row.digest, run_ids=tuple(json.loads(row.runs)), created_s=row.created_s
    )
