"""Bisections: the runs of commits. The client has the repository and searches."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from anubis.api.runs import row_to_json, run_details_to_json
from anubis.contracts.runs import KeyedSubmission
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.run import Run
from anubis.web import descriptors
from anubis.web.answers import Answer, NounRoute, also_200
from anubis.web.descriptors import Strict
from anubis.web.routes import keyed
from anubis.web.service import Asked, service_of

if TYPE_CHECKING:
    from anubis import describe
    from anubis.bisection import bisect_request, measurements
    from anubis.describe import drafting
    from anubis.submission import descriptor_files, submit
else:  # numpy and scipy, which only some requests need
    bisect_request = late("anubis.bisection.bisect_request")
    describe = late("anubis.describe")
    drafting = late("anubis.describe.drafting")
    descriptor_files = late("anubis.submission.descriptor_files")
    measurements = late("anubis.bisection.measurements")
    submit = late("anubis.submission.submit")

router = APIRouter(route_class=NounRoute, tags=["bisections"])

#: Most runs of one request.
_MOST = 10_000


class TreeBody(Strict):
    """A commit to measure."""

    commit: str = Field(pattern="^[0-9a-f]{7,64}$")
    script: str | None = Field(
        None,
        description="Key of a stored archive of the working folder in a tree of the commit; the run has no other one.",
    )
    order_s: float | None = Field(None, description="Position of the commit in a series, UTC seconds.")


class CommitRunsBody(Strict):
    """Runs of commits, with the descriptor in ``text``, or with that of the run ``like``."""

    text: str | None = Field(None, description="The descriptor, in TOML; with the overrides it has one cell.")
    name: str = Field("descriptor.toml", description="Name of the file, for messages.")
    overrides: dict[str, str] = Field({}, description="Path of a field -> its value.")
    like: str | None = Field(None, description="A run whose descriptor and environment are used.")
    trees: list[TreeBody] = Field(min_length=1, max_length=_MOST, description="One run for each, in order.")


@router.get("/bisections/{key}", summary="Runs of a bisection")
def runs(key: str, installation: Asked) -> Response:
    """The runs of a bisection, oldest first. The key is chosen by the client."""
    stored = _stored(installation, key)
    return Answer({"family_id": stored.family_id, "runs": list(map(row_to_json, stored.runs()))})


@router.get("/bisections/{key}/values", summary="Values of the commits of a bisection")
def values(
    key: str, installation: Asked, metric: Annotated[str, Query(description="Name of a metric.")]
) -> Response:
    """The values of the series of the newest run, on its machine, by commit; null: no run has a value."""
    found = _stored(installation, key).values(metric)
    return Answer({"values": None if found is None else asdict(found)})


@router.post(
    "/bisections/{key}/runs",
    summary="Measure commits",
    status_code=201,
    responses=also_200("The key is stored already."),
)
def submit_runs(
    key: str,
    body: CommitRunsBody,
    request: Request,
    installation: Asked,
    idempotency_key: keyed.Key = None,
) -> Response:
    """All runs are stored, or none. With the header Idempotency-Key the request can be repeated, as for POST /runs."""

    def submitted(once: tuple[str, str] | None) -> list[Run]:
        model, like = _model(body, installation)
        trees = [
            measurements.Tree(
                commit=each.commit,
                script=descriptors.script_of(each.script, installation),
                order_s=each.order_s,
            )
            for each in body.trees
        ]
        return list(_stored(installation, key, model, like=like).submit(trees, key=once))

    def known(stored: KeyedSubmission) -> list[Run]:
        return keyed.runs_of(installation, stored)

    found, is_new = keyed.once(installation, idempotency_key, body, submitted, known)
    service_of(request).wrote()
    return Answer({"runs": list(map(run_details_to_json, found))}, 201 if is_new else 200)


def _stored(
    installation: Asked, key: str, model: "submit.Submission | None" = None, *, like: str | None = None
) -> "measurements.StoredMeasurements":
    family = bisect_request.family_id("bisection", key)
    return measurements.StoredMeasurements(
        installation.world, installation.settings, family, model, like=like
    )


def _model(body: CommitRunsBody, installation: Asked) -> "tuple[submit.Submission, str | None]":
    """What every run measures, and the id of the run whose environment it gets."""
    if (body.text is None) == (body.like is None):
        raise BadInputError(
            "a bisection needs a descriptor or a run", remedy="give either text or like, not both"
        )
    if body.like is not None:
        run = installation.world.runs.get(body.like)
        text = installation.world.runs.text(run.id)
        return submit.Submission(descriptor=run.descriptor, text=text, overrides=run.overrides), run.id
    assert body.text is not None
    descriptors.check_alone(body.text, body.name)
    given = drafting.DescriptorText(text=body.text, folder=Path.cwd(), name=body.name)
    text, descriptor, _, _ = descriptor_files.descriptor_of(given, overrides=body.overrides)
    cells = list(describe.cells(descriptor))
    if len(cells) != 1:
        raise BadInputError(
            f"{body.name} describes {len(cells)} runs, but a bisection needs exactly one",
            remedy="fix the axes of its matrix with overrides",
        )
    (cell,) = cells
    return (
        submit.Submission(
            descriptor=cell.descriptor, text=text, cell=dict(cell.values), overrides=body.overrides
        ),
        None,
    )
