"""Schedules: descriptors that are submitted at due times."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from anubis.api.json_values import Json
from anubis.api.problems import problem_to_json
from anubis.api.runs import run_details_to_json
from anubis.api.schedules import due_time_to_json, schedule_to_json
from anubis.contracts.schedules import CatchUp
from anubis.web import descriptors
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import DescriptorBody, Strict
from anubis.web.service import Asked, Asking, service_of

router = APIRouter(route_class=NounRoute, tags=["schedules"])


class ScheduleBody(Strict):
    """A descriptor with ``info.scheduling``."""

    descriptor: DescriptorBody
    name: str | None = Field(None, description="By default that of the benchmark.")
    overrides: dict[str, str] = Field({}, description="Path of a field -> its value.")
    script: str | None = Field(None, description="Key of a stored script archive.")
    catch_up: CatchUp = Field(CatchUp.LAST, strict=False)
    catch_up_limit: int = Field(10, ge=1, le=10_000)
    jitter_s: float = Field(0.0, ge=0)
    pause_after: int = Field(0, ge=0, description="Failures in a row after which it is paused; 0: never.")


class PauseBody(Strict):
    """The reason of a pause."""

    why: str = ""


@router.put("/schedules", summary="Add or update a schedule")
def add(body: ScheduleBody, client: Asking, installation: Asked) -> Response:
    """Store a descriptor with a schedule, or update the schedule of that name."""
    warnings: list[Json] = []
    added = client.schedules.add(
        descriptors.text_of(body.descriptor),
        name=body.name,
        overrides=body.overrides,
        script=descriptors.script_of(body.script, installation),
        catch_up=body.catch_up,
        catch_up_limit=body.catch_up_limit,
        jitter_s=body.jitter_s,
        pause_after=body.pause_after,
        warned=lambda file, problem: warnings.append({**problem_to_json(problem), "descriptor": str(file)}),
    )
    return Answer(
        {
            "schedule": schedule_to_json(added.schedule),
            "before": added.before and schedule_to_json(added.before),
            "changes": list(added.changes),
            "warnings": warnings,
        }
    )


@router.get("/schedules", summary="List schedules")
def find(client: Asking) -> Response:
    """All schedules, by name."""
    return Answer({"schedules": list(map(schedule_to_json, client.schedules.find()))})


@router.get("/schedules/{ref}", summary="One schedule")
def get(ref: str, client: Asking) -> Response:
    """A schedule by its name, its id or a unique prefix of its id."""
    return Answer(schedule_to_json(client.schedules.get(ref)))


@router.get("/schedules/{ref}/descriptor", summary="Descriptor of a schedule")
def text(ref: str, client: Asking) -> Response:
    """The text of the descriptor."""
    return Answer({"text": client.schedules.text(ref)})


@router.get("/schedules/{ref}/due-times", summary="Due times of a schedule")
def due_times(ref: str, client: Asking, limit: Annotated[int, Query(ge=1, le=10_000)] = 20) -> Response:
    """What happened to its latest due times, newest first."""
    found = client.schedules.due_times(ref, limit=limit)
    return Answer({"due_times": list(map(due_time_to_json, found))})


@router.post("/schedules/{ref}/pause", summary="Pause a schedule")
def pause(ref: str, body: PauseBody, client: Asking) -> Response:
    """Start no more runs; runs in progress continue."""
    return Answer(schedule_to_json(client.schedules.pause(ref, why=body.why)))


@router.post("/schedules/{ref}/resume", summary="Resume a schedule")
def resume(ref: str, client: Asking) -> Response:
    """Start runs again from the next due time after now."""
    return Answer(schedule_to_json(client.schedules.resume(ref)))


@router.post("/schedules/{ref}/trigger", summary="Submit the runs of a schedule now")
def trigger(ref: str, request: Request, client: Asking) -> Response:
    """The runs, whatever the overlap policy of the schedule is, also if it is paused."""
    runs = client.schedules.trigger(ref)
    service_of(request).wrote()
    return Answer({"runs": list(map(run_details_to_json, runs))})


@router.delete("/schedules/{ref}", summary="Delete a schedule")
def remove(ref: str, client: Asking) -> Response:
    """The deleted schedule; its runs remain."""
    return Answer(schedule_to_json(client.schedules.remove(ref)))
