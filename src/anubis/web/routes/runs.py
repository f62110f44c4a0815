"""Runs: submit, find, follow, cancel and purge."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from anubis.api.json_values import Json
from anubis.api.paging import MOST, USUAL, page_of, run_before
from anubis.api.problems import problem_to_json
from anubis.api.runs import event_to_json, row_to_json, run_details_to_json
from anubis.client.embedded import submission
from anubis.client.protocol.runs import Replayed, SubmitRequest
from anubis.contracts.runs import KeyedSubmission, RunQuery
from anubis.model.errors import BadInputError
from anubis.model.plain import to_plain
from anubis.model.problem import Problem
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record.layout import is_run_id
from anubis.web import descriptors
from anubis.web.answers import Answer, NounRoute, also_200
from anubis.web.descriptors import MOST_NUMBER, DescriptorBody, Strict
from anubis.web.routes import keyed
from anubis.web.service import Asked, Asking, service_of

router = APIRouter(route_class=NounRoute, tags=["runs"])

#: Most submissions of one request.
MOST_SUBMISSIONS = 10_000


class SubmitBody(Strict):
    """Descriptors to measure. Several descriptors, several rounds or a ``[matrix]`` make a family."""

    descriptors: list[DescriptorBody] = Field(min_length=1, max_length=1000)
    overrides: dict[str, str] = Field({}, description="Path of a field -> its value, for every descriptor.")
    script: str | None = Field(None, description="Key of a stored script archive.")
    rounds: int = Field(1, ge=1, le=1000)
    control: bool = Field(False, description="Measure each descriptor as both sides of an A/A control.")
    needs: list[str] = Field(
        [],
        max_length=1000,
        description="RUN or BENCHMARK=RUN: the runs start only after these have succeeded. RUN is a reference or a benchmark "
        "of this submission; in a batch, also a benchmark of another submission.",
    )


class BatchBody(Strict):
    """Many submissions that are stored together."""

    submissions: list[SubmitBody] = Field(min_length=1, max_length=MOST_SUBMISSIONS)


class ReplayBody(Strict):
    """A run to repeat."""

    overrides: dict[str, str] = Field({}, description="Path of a field -> its value.")
    folder: str | None = Field(None, description="Working folder; by default that of the run.")


class CancelBody(Strict):
    """Runs to cancel."""

    refs: list[str] = Field(min_length=1, max_length=100_000)
    why: str = ""
    cascade: bool = Field(False, description="Also cancel the runs that they caused.")


class RefsBody(Strict):
    """Runs by reference."""

    refs: list[str] = Field(min_length=1, max_length=100_000)


class IdsBody(Strict):
    """Runs by id."""

    ids: list[str] = Field(max_length=100_000)


@router.post(
    "/runs", summary="Submit descriptors", status_code=201, responses=also_200("The key is stored already.")
)
def submit(
    body: SubmitBody,
    request: Request,
    installation: Asked,
    idempotency_key: keyed.Key = None,
) -> Response:
    """All runs are stored, or none. With the header Idempotency-Key a request can be repeated: for a week, the same
    request with the same key is answered with the runs that were stored first (status 200).
    """
    problems: list[Json] = []

    def submitted(key: tuple[str, str] | None) -> list[Run]:
        return submission.submit(
            installation,
            [descriptors.text_of(each) for each in body.descriptors],
            overrides=body.overrides,
            script=descriptors.script_of(body.script, installation),
            rounds=body.rounds,
            control=body.control,
            needs=body.needs,
            warned=lambda file, problem: problems.append(warning(file, problem)),
            key=key,
        )

    def stored(known: KeyedSubmission) -> list[Run]:
        return keyed.runs_of(installation, known)

    runs, is_new = keyed.once(installation, idempotency_key, body, submitted, stored)
    service_of(request).wrote()
    return Answer(
        {"runs": list(map(run_details_to_json, runs)), "warnings": problems}, 201 if is_new else 200
    )


@router.post(
    "/runs/batches",
    summary="Submit many descriptors and families",
    status_code=201,
    responses=also_200("The key is stored already."),
)
def submit_batch(
    body: BatchBody,
    request: Request,
    installation: Asked,
    idempotency_key: keyed.Key = None,
) -> Response:
    """The runs of all submissions are stored in one transaction, or none: the error then contains the problems of all.

    Each submission is as for POST /runs, and makes its own family. The answer contains the ids of the runs of each. The
    header Idempotency-Key is that of the whole request; see there.
    """
    problems: list[Json] = []
    requests = [
        SubmitRequest(
            files=[descriptors.text_of(each) for each in submitted.descriptors],
            overrides=submitted.overrides,
            script=descriptors.script_of(submitted.script, installation),
            rounds=submitted.rounds,
            control=submitted.control,
            needs=submitted.needs,
        )
        for submitted in body.submissions
    ]

    def submitted_all(key: tuple[str, str] | None) -> list[list[str]]:
        return submission.submit_all(
            installation,
            requests,
            warned=lambda file, problem: problems.append(warning(file, problem)),
            key=key,
        )

    def stored(known: KeyedSubmission) -> list[list[str]]:
        return _known_batch(installation, known)

    ids, is_new = keyed.once(installation, idempotency_key, body, submitted_all, stored)
    service_of(request).wrote()
    return Answer(
        {"submissions": [{"run_ids": each} for each in ids], "warnings": problems}, 201 if is_new else 200
    )


def _known_batch(installation: Asked, stored: KeyedSubmission) -> list[list[str]]:
    """The ids of the runs of each submission: those of one with several runs are of a family."""
    query = RunQuery(ids=stored.run_ids, limit=len(stored.run_ids))
    families = {row.id: row.family_id or row.id for row in installation.world.runs.find(query)}
    known = [run_id for run_id in stored.run_ids if run_id in families]
    return [list(ids) for _, ids in itertools.groupby(known, key=lambda run_id: families[run_id])]


def warning(file: Path, problem: Problem) -> Json:
    """A warning about a descriptor."""
    return {**problem_to_json(problem), "descriptor": str(file)}


@router.get("/runs", summary="List runs")
def find(
    *,
    client: Asking,
    id: Annotated[list[str], Query(description="Full ids.")] = [],  # noqa: A002, B006  the name of the parameter
    status: Annotated[list[Status], Query()] = [],  # noqa: B006  read only
    label: Annotated[list[str], Query(description="NAME=VALUE; a run must have all.")] = [],  # noqa: B006
    benchmark: str | None = None,
    commit: Annotated[str | None, Query(description="Prefix of a commit or version.")] = None,
    family: str | None = None,
    parent: str | None = None,
    owner: Annotated[str | None, Query(description="Name of the person who submitted them.")] = None,
    metric: Annotated[str | None, Query(description="Runs with a value of this metric.")] = None,
    since_s: float | None = None,
    until_s: float | None = None,
    oldest_first: bool = False,
    limit: Annotated[int, Query(ge=1, le=MOST)] = USUAL,
    cursor: Annotated[str | None, Query(description="``next`` of the previous page.")] = None,
) -> Response:
    """One page of runs, newest first, and the cursor of the next page."""
    query = RunQuery(
        ids=full_ids(id),
        statuses=tuple(status),
        labels=dict(map(label_of, label)),
        name=benchmark,
        subject=commit,
        family_id=family,
        parent_id=full_ids([parent])[0] if parent else None,
        owner=owner,
        metric=metric,
        since_s=since_s,
        until_s=until_s,
        newest_first=not oldest_first,
        limit=limit + 1,
        after=run_before(cursor) if cursor else None,
    )
    page = page_of(client.runs.find(query), limit)
    return Answer({"runs": list(map(row_to_json, page.rows)), "next": page.next})


def full_ids(given: Sequence[str]) -> tuple[str, ...]:
    """The ids. Raises BadInputError if one is not a full id."""
    if wrong := [run_id for run_id in given if not is_run_id(run_id)]:
        raise BadInputError(
            f"{wrong[0][:100]!r} is not a full id", remedy="use an id of 36 characters, as a listing has it"
        )
    return tuple(given)


def label_of(text: str) -> tuple[str, str]:
    """Name and value of a label. Raises BadInputError."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInputError(f"expected a label as NAME=VALUE, got {text!r}", remedy="use label=NAME=VALUE")
    return name, value


@router.get("/names", summary="Names of benchmarks, metrics and labels")
def names(client: Asking) -> Response:
    """The names that conditions of a listing can have."""
    found = client.runs.names()
    labels = {name: list(values) for name, values in found.labels.items()}
    return Answer({"benchmarks": list(found.benchmarks), "metrics": list(found.metrics), "labels": labels})


@router.post("/runs/short-ids", summary="Short unique ids")
def short_ids(body: IdsBody, client: Asking) -> Response:
    """For each id a prefix that is unique among the stored runs."""
    return Answer({"short_ids": dict(client.runs.short_ids(full_ids(body.ids)))})


@router.post("/runs/cancellations", summary="Cancel runs")
def cancel(body: CancelBody, request: Request, client: Asking) -> Response:
    """Ask for the cancellation of runs; the answer contains those that were not final and had not been asked before."""
    cancelled = client.runs.cancel(body.refs, why=body.why, cascade=body.cascade)
    service_of(request).wrote()
    return Answer({"runs": list(map(run_details_to_json, cancelled))})


@router.post("/runs/purge", summary="Delete final runs")
def purge(body: RefsBody, client: Asking) -> Response:
    """Delete final runs and their records."""
    return Answer({"ids": client.runs.purge(body.refs)})


@router.get("/engines", summary="Engines")
def engines(client: Asking) -> Response:
    """The names of the engines that runs can use."""
    return Answer({"engines": client.runs.engines()})


@router.get("/runs/{ref}", summary="One run")
def get(ref: str, client: Asking) -> Response:
    """The run with its descriptor and its values."""
    run = client.runs.get(ref)
    return Answer(run_details_to_json(run, client.results.points([run.id])))


@router.get("/runs/{ref}/family", summary="Runs of the same family")
def family(ref: str, client: Asking) -> Response:
    """The runs of the family in the order of their submission; only the run itself if it has no family."""
    return Answer({"runs": list(map(row_to_json, client.runs.family(ref)))})


@router.get("/runs/{ref}/descriptor", summary="Descriptor as submitted")
def text(ref: str, client: Asking) -> Response:
    """The text of the descriptor file."""
    return Answer({"text": client.runs.text(ref)})


@router.get("/runs/{ref}/timeline", summary="Events of one run")
def timeline(
    ref: str,
    client: Asking,
    after_seq: Annotated[
        int, Query(ge=0, le=MOST_NUMBER, description="Number of the last event that is known.")
    ] = 0,
) -> Response:
    """The oldest thousand events of the run after a number. To follow them, see ``/events``."""
    events = client.runs.events(ref, after_seq=after_seq)
    return Answer({"events": [{"run_id": event.run_id, **event_to_json(event)} for event in events]})


@router.post("/runs/{ref}/replay", summary="Repeat a run", status_code=201)
def replay(ref: str, body: ReplayBody, request: Request, client: Asking) -> Response:
    """Store a run that repeats another: the same descriptor with its overrides, the same script archive."""
    folder = Path(body.folder) if body.folder else None
    replayed = client.runs.replay(ref, overrides=body.overrides, folder=folder)
    service_of(request).wrote()
    return Answer(_replayed_to_json(replayed), 201)


@router.get("/runs/{ref}/differences", summary="Differences of a replay")
def differences(ref: str, of: str, client: Asking) -> Response:
    """What the final run ``ref``, a replay of the run ``of``, does not have in common with it as it was measured."""
    known = Replayed(run=client.runs.get(ref), replay_of=client.runs.get(of), differences=())
    return Answer(_replayed_to_json(client.runs.compared(known)))


def _replayed_to_json(replayed: Replayed) -> dict[str, Any]:
    return {
        "run": run_details_to_json(replayed.run),
        "replay_of": run_details_to_json(replayed.replay_of),
        "differences": [to_plain(problem) for problem in replayed.differences],
    }
