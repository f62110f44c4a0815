"""Run references: full ids, unique prefixes, ``@last``, ``@last~2``."""

import re

from anubis.contracts.runs import RunQuery
from anubis.contracts.runs import Runs as StoredRuns
from anubis.model.errors import NotFoundError
from anubis.model.run import Run

_LAST = re.compile(r"@last(?:~(\d+))?")


def find_run(runs: StoredRuns, ref: str) -> Run:
    """The run of a reference. Raises NotFoundError."""
    if match := _LAST.fullmatch(ref):
        back = int(match[1] or 0)
        rows = runs.find(RunQuery(limit=back + 1))
        if len(rows) <= back:
            raise NotFoundError(
                f"there is no {ref}: {len(rows)} runs are stored", remedy="see anubis history"
            )
        ref = rows[back].id
    return runs.get(ref)
