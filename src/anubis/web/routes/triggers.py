"""Triggers: descriptors that are submitted when a repository or a registry reports a change."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from anubis.api.json_values import Json
from anubis.api.problems import problem_to_json
from anubis.api.schedules import delivery_to_json, trigger_to_json
from anubis.contracts.service.triggers import ChangeKind, TriggerKind
from anubis.web import descriptors
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import DescriptorBody, Strict
from anubis.web.service import Asked, Asking

router = APIRouter(route_class=NounRoute, tags=["triggers"])


class TriggerBody(Strict):
    """Which reports submit which descriptors."""

    name: str = Field(description="Part of the address of the trigger: /api/v1/hooks/NAME.")
    kind: TriggerKind = Field(strict=False)
    secret: str = Field(description="Name of a secret of the installation; its value is never shown.")
    changes: list[Annotated[ChangeKind, Field(strict=False)]] = Field(min_length=1, max_length=10)
    patterns: list[str] = Field(
        ["*"], min_length=1, max_length=100, description="Patterns of branches or tags; one must match."
    )
    repositories: list[str] = Field(["*"], min_length=1, max_length=100)
    descriptors: list[DescriptorBody] = Field(min_length=1, max_length=100)
    overrides: dict[str, str] = Field({}, description="Path of a field -> its value.")
    script: str | None = Field(None, description="Key of a stored script archive.")


@router.post("/triggers", summary="Create a trigger", status_code=201)
def create(body: TriggerBody, client: Asking, installation: Asked) -> Response:
    """Store a trigger. The field that a report fills in is subject.commit, or env.docker_image for an image."""
    warnings: list[Json] = []
    trigger = client.triggers.create(
        body.name,
        [descriptors.text_of(each) for each in body.descriptors],
        kind=body.kind,
        secret=body.secret,
        changes=body.changes,
        patterns=body.patterns,
        repositories=body.repositories,
        overrides=body.overrides,
        script=descriptors.script_of(body.script, installation),
        warned=lambda file, problem: warnings.append({**problem_to_json(problem), "descriptor": str(file)}),
    )
    return Answer({"trigger": trigger_to_json(trigger), "warnings": warnings}, 201)


@router.get("/triggers", summary="List triggers")
def find(client: Asking) -> Response:
    """All triggers, by name."""
    return Answer({"triggers": list(map(trigger_to_json, client.triggers.find()))})


@router.get("/triggers/{name}", summary="One trigger")
def get(name: str, client: Asking) -> Response:
    """A trigger by its name."""
    return Answer(trigger_to_json(client.triggers.get(name)))


@router.get("/triggers/{name}/deliveries", summary="Reports to a trigger")
def deliveries(name: str, client: Asking, limit: Annotated[int, Query(ge=1, le=10_000)] = 20) -> Response:
    """What happened to the latest reports with a valid signature, newest first."""
    return Answer({"deliveries": list(map(delivery_to_json, client.triggers.deliveries(name, limit=limit)))})


@router.delete("/triggers/{name}", summary="Delete a trigger")
def remove(name: str, client: Asking) -> Response:
    """The deleted trigger; its runs remain."""
    return Answer(trigger_to_json(client.triggers.remove(name)))
