"""Alternations: begin, read, judge and extend. The client asks for each further rounds."""

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request, Response
from pydantic import Field

from anubis.api.json_values import Json
from anubis.contracts.runs import KeyedSubmission
from anubis.late import late
from anubis.web import descriptors
from anubis.web.answers import Answer, NounRoute, also_200
from anubis.web.descriptors import DescriptorBody, Strict
from anubis.web.routes import keyed
from anubis.web.routes.runs import warning
from anubis.web.service import Asked, Asking, service_of

if TYPE_CHECKING:
    from anubis.alternation import plan
    from anubis.alternation.plan import Alternation
    from anubis.api import alternations as api_alternations
    from anubis.client.embedded import alternations
else:  # numpy and scipy, which only some requests need
    alternations = late("anubis.client.embedded.alternations")
    api_alternations = late("anubis.api.alternations")
    plan = late("anubis.alternation.plan")

router = APIRouter(route_class=NounRoute, tags=["alternations"])


class AlternationBody(Strict):
    """Two descriptors to measure in alternating order, the baseline first."""

    descriptors: list[DescriptorBody] = Field(min_length=1, max_length=1000)
    overrides: dict[str, str] = Field({}, description="Path of a field -> its value, for both descriptors.")
    script: str | None = Field(None, description="Key of a stored script archive.")
    rounds: int = Field(60, ge=6, le=1000, multiple_of=2, description="Most rounds.")
    max_s: float | None = Field(None, ge=0, description="Longest total time of the runs, seconds.")
    min_effect: float | None = Field(None, ge=0, description="Smallest effect that counts, as a ratio.")
    metrics: list[str] = Field([], max_length=1000, description="Metrics to judge; none: all.")


class RoundsBody(Strict):
    """Further rounds."""

    after: int = Field(ge=1, le=1000, description="Number of the rounds that they follow.")


@router.post(
    "/alternations",
    summary="Begin an alternation",
    status_code=201,
    responses=also_200("The key is stored already."),
)
def begin(
    body: AlternationBody, request: Request, installation: Asked, idempotency_key: keyed.Key = None
) -> Response:
    """Store the first rounds. With the header Idempotency-Key the request can be repeated, as for POST /runs."""
    problems: list[Json] = []

    def begun(key: tuple[str, str] | None) -> "Alternation":
        return alternations.begin(
            installation,
            [descriptors.text_of(each) for each in body.descriptors],
            plan.Plan(
                rounds=body.rounds,
                max_s=body.max_s,
                min_effect=body.min_effect,
                metrics=tuple(body.metrics),
            ),
            overrides=body.overrides,
            script=descriptors.script_of(body.script, installation),
            warned=lambda file, problem: problems.append(warning(file, problem)),
            key=key,
        )

    def stored(known: KeyedSubmission) -> "Alternation":
        return alternations.Alternations(installation).get(known.run_ids[0])

    found, is_new = keyed.once(installation, idempotency_key, body, begun, stored)
    service_of(request).wrote()
    return Answer(
        {"alternation": api_alternations.alternation_details_to_json(found), "warnings": problems},
        201 if is_new else 200,
    )


@router.get("/alternations/{ref}", summary="One alternation")
def get(ref: str, client: Asking) -> Response:
    """Its plan and its runs; ``ref`` is the id of its family, or a reference to one of its runs."""
    return Answer(api_alternations.alternation_details_to_json(client.alternations.get(ref)))


@router.get("/alternations/{ref}/state", summary="Verdicts of an alternation")
def state(ref: str, client: Asking) -> Response:
    """What the rounds say whose runs are final. ``end``: why no more rounds are needed, or null."""
    return Answer(api_alternations.state_to_json(client.alternations.state(ref)))


@router.put("/alternations/{ref}/rounds", summary="Measure further rounds")
def extend(ref: str, body: RoundsBody, request: Request, client: Asking) -> Response:
    """Store two rounds that follow a number of rounds. A repeated request stores nothing twice."""
    found = client.alternations.extend(ref, after=body.after)
    service_of(request).wrote()
    return Answer(api_alternations.alternation_details_to_json(found))
