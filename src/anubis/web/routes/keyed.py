"""Requests with an idempotency key, which are carried out once."""

import contextlib
import hashlib
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Header
from pydantic import BaseModel

from anubis.contracts.runs import KeyedSubmission
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.run import Run
from anubis.web.service import Asked

_LONGEST_KEY = 200
#: Parameter of a route: the key of the request.
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=_LONGEST_KEY)]
T = TypeVar("T")


def once(
    installation: Asked,
    given: str | None,
    body: BaseModel,
    work: Callable[[tuple[str, str] | None], T],
    repeated: Callable[[KeyedSubmission], T],
) -> tuple[T, bool]:
    """The result of ``work``, which stores the key and the digest of a request, and whether it is new.

    A request whose key is stored gets the result of ``repeated``. Raises ConflictError if the key belongs to another
    request. Projects do not share keys.
    """
    if not given:
        return work(None), True
    name, runs = installation.settings.project, installation.world.runs
    key = f"{name}/{given}" if name else given
    digest = hashlib.sha256(body.model_dump_json().encode()).hexdigest()
    stored = runs.submission(key)
    if stored is None:
        try:
            return work((key, digest)), True
        except ConflictError:
            stored = runs.submission(key)  # the same request arrived twice at the same time
            if stored is None:
                raise
    if stored.digest != digest:
        raise ConflictError(
            f"the idempotency key {stored.key!r} belongs to another request",
            remedy="use a new key for another request",
        )
    return repeated(stored), False


def runs_of(installation: Asked, stored: KeyedSubmission) -> list[Run]:
    """The runs of a submission, without those that were purged meanwhile."""
    found: list[Run] = []
    for run_id in stored.run_ids:
        with contextlib.suppress(NotFoundError):
            found.append(installation.world.runs.get(run_id))
    return found
