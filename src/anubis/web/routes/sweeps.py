"""Sweeps: plan, start, follow and repeat."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from anubis.api.json_values import Json
from anubis.api.problems import problem_to_json
from anubis.client import Client
from anubis.contracts.sweeps import Sweep
from anubis.late import late
from anubis.model.plain import to_plain
from anubis.web import descriptors
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import DescriptorBody, Strict
from anubis.web.service import Asked, Asking

if TYPE_CHECKING:
    from anubis.api import sweeps as api_sweeps
else:  # numpy and scipy, which only some requests need
    api_sweeps = late("anubis.api.sweeps")

router = APIRouter(route_class=NounRoute, tags=["sweeps"])


class SweepBody(Strict):
    """A descriptor with a ``[matrix]``."""

    descriptor: DescriptorBody
    overrides: dict[str, str] = Field({}, description="Path of a field -> its value.")
    script: str | None = Field(None, description="Key of a stored script archive.")
    max_parallel: int | None = Field(None, ge=1, le=100_000)


class WhyBody(Strict):
    """The reason of a change."""

    why: str = ""


class RetryBody(Strict):
    """Which failed cells are repeated."""

    causes: list[str] = Field(min_length=1, max_length=100)


def _planned(body: SweepBody, client: Client, installation: Asked) -> tuple[Sweep, list[Json]]:
    warnings: list[Json] = []
    planned = client.sweeps.plan(
        descriptors.text_of(body.descriptor),
        overrides=body.overrides,
        script=descriptors.script_of(body.script, installation),
        max_parallel=body.max_parallel,
        warned=lambda file, problem: warnings.append(
            {**problem_to_json(problem), "descriptor": str(Path(file))}
        ),
    )
    return planned, warnings


@router.post("/sweeps/plans", summary="Plan a sweep")
def plan(body: SweepBody, client: Asking, installation: Asked) -> Response:
    """The sweep and its cells; nothing is stored."""
    planned, warnings = _planned(body, client, installation)
    cells = [to_plain(cell) for cell in client.sweeps.cells(planned)]
    return Answer({"sweep": api_sweeps.sweep_details_to_json(planned), "cells": cells, "warnings": warnings})


@router.post("/sweeps", summary="Start a sweep", status_code=201)
def start(body: SweepBody, client: Asking, installation: Asked) -> Response:
    """The stored sweep; the service submits its cells."""
    planned, warnings = _planned(body, client, installation)
    return Answer(
        {"sweep": api_sweeps.sweep_details_to_json(client.sweeps.start(planned)), "warnings": warnings}, 201
    )


@router.get("/sweeps", summary="List sweeps")
def find(client: Asking, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
    """The newest sweeps, newest first."""
    return Answer({"sweeps": list(map(api_sweeps.sweep_details_to_json, client.sweeps.find(limit=limit)))})


@router.get("/sweeps/{ref}", summary="One sweep")
def get(ref: str, client: Asking) -> Response:
    """A sweep by its id, a prefix of it, one of its runs, or ``@last``."""
    return Answer(api_sweeps.sweep_details_to_json(client.sweeps.get(ref)))


@router.get("/sweeps/{ref}/state", summary="Cells of a sweep")
def state(ref: str, client: Asking) -> Response:
    """The runs of the cells, by position, and what is left to do."""
    return Answer(api_sweeps.progress_to_json(client.sweeps.state(ref)))


@router.post("/sweeps/{ref}/pause", summary="Pause a sweep")
def pause(ref: str, body: WhyBody, client: Asking) -> Response:
    """Submit no further cells and cancel those that wait; running cells continue."""
    return Answer(api_sweeps.sweep_details_to_json(client.sweeps.pause(ref, why=body.why)))


@router.post("/sweeps/{ref}/cancellation", summary="Cancel a sweep")
def cancel(ref: str, body: WhyBody, client: Asking) -> Response:
    """Submit no further cells and cancel all that are not final."""
    return Answer(api_sweeps.sweep_details_to_json(client.sweeps.cancel(ref, why=body.why)))


@router.post("/sweeps/{ref}/resume", summary="Resume a sweep")
def resume(ref: str, client: Asking) -> Response:
    """Run the cells that were not submitted or were cancelled; after a stop also those that failed."""
    return Answer(api_sweeps.sweep_details_to_json(client.sweeps.resume(ref)))


@router.post("/sweeps/{ref}/retry", summary="Repeat failed cells")
def retry(ref: str, body: RetryBody, client: Asking) -> Response:
    """Repeat the cells that failed with these causes; their number."""
    changed, count = client.sweeps.retry(ref, body.causes)
    return Answer({"sweep": api_sweeps.sweep_details_to_json(changed), "repeated": count})
