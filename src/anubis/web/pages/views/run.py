"""One run: how it ended and what to do, its values, and everything that was recorded."""

import math
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Form, Response

from anubis.api.environments import environment_to_json
from anubis.api.runs import event_to_json, run_details_to_json
from anubis.contracts.runs import RunQuery
from anubis.model.errors import DamagedSamplesError, NotFoundError
from anubis.model.points import OWN_METRICS, Point
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record.reading import Record
from anubis.record.validation import DamagedError
from anubis.reporting.charts.data import DistributionChart, SeriesChart, Side
from anubis.reporting.charts.distribution import distribution_svg
from anubis.reporting.charts.figure import series_figure
from anubis.reporting.status_words import WORDS
from anubis.search.windows import window
from anubis.web.pages import forms
from anubis.web.pages import visit as visits
from anubis.web.pages.parts import output, telemetry
from anubis.web.pages.parts.charts import safe
from anubis.web.pages.visit import Visit, Visiting
from anubis.web.service import service_of

router = visits.router()

#: Metrics whose repeats are drawn, samples that are read of each, and output lines of a run that failed.
_DRAWN, _SAMPLES, _TAIL = 12, 400, 20
_TAIL_BYTES = 16 << 10
#: Kinds of events that say how far the values can be trusted.
_REMARKS = {"threshold", "rejected", "condition", "contaminated"}


@router.get("/runs/{ref}")
def show(ref: str, visit: Visiting, tab: str = "results") -> Response:
    """One part of what is known about the run."""
    run = visit.client.runs.get(ref)
    parts = {
        "telemetry": _telemetry,
        "events": _events,
        "descriptor": _descriptor,
        "machine": _machine,
        "data": _data,
    }
    made = parts.get(tab, _results)(visit, run)
    name = tab if tab in parts else "results"
    return visit.page(
        f"run_{name}.html",
        title=f"{run.descriptor.info.name} {WORDS[run.status]}",
        plain=lambda: {**run_details_to_json(run), **made.get("plain", {})},
        run=run,
        tab=name,
        **{key: value for key, value in made.items() if key != "plain"},
    )


def _results(visit: Visit, run: Run) -> dict[str, Any]:
    points = sorted(visit.client.results.points([run.id]), key=_own_last)
    ended_badly = run.status in {Status.FAILED, Status.CANCELLED}
    tail = []
    if not run.status.final or ended_badly:
        files = visit.client.records.files(run)
        found = window(files, most_bytes=_TAIL_BYTES, is_over=run.status.final)
        tail = output.lines_of(found)[-_TAIL:]
    events = visit.client.runs.events(run.id)
    summaries = {each.metric: each for each in visit.client.results.summaries(run.id)}
    return {
        "plain": run_details_to_json(run, points),
        "points": points,
        "summaries": summaries,
        "dots": _dots(visit, run, [point for point in points if point.count > 1][:_DRAWN]),
        "tail": tail,
        "is_bad": ended_badly,
        "remarks": list(dict.fromkeys((each.kind, each.message) for each in events if each.kind in _REMARKS)),
        "family": _family(visit, run),
        "previous": _previous(visit, run),
    }


def _own_last(point: Point) -> tuple[bool, str]:
    return point.metric in OWN_METRICS, point.metric


def _dots(visit: Visit, run: Run, points: Sequence[Point]) -> list[Any]:
    """The repeats of each metric, one row of dots for each."""
    drawn = []
    for point in points:
        try:
            block = visit.client.results.samples(run.id, point.metric, most=_SAMPLES)
        except (NotFoundError, DamagedSamplesError):
            continue
        repeats: dict[int, list[float]] = {}
        for repeat, value in zip(block.repeats, block.values, strict=True):
            if repeat >= 0 and math.isfinite(value):
                repeats.setdefault(repeat, []).append(value)
        if not repeats:
            continue
        chart = DistributionChart(
            title=point.metric,
            description=f"{len(repeats)} repeats",
            units=point.units,
            better=point.better,
            sides=(Side(label="repeats", values=tuple(v for each in repeats.values() for v in each)),),
        )
        drawn.append(safe(distribution_svg(chart)))
    return drawn


def _family(visit: Visit, run: Run) -> int:
    """Number of runs of the same family; at most those of a page."""
    return len(visit.client.runs.find(RunQuery(family_id=run.family_id, limit=1000))) if run.family_id else 0


def _previous(visit: Visit, run: Run) -> str:
    """The id of the run of the same benchmark before this one that succeeded."""
    query = RunQuery(name=run.descriptor.info.name, statuses=(Status.SUCCEEDED,), after=run.id, limit=1)
    found = visit.client.runs.find(query)
    return found[0].id if found else ""


def _events(visit: Visit, run: Run) -> dict[str, Any]:
    events = visit.client.runs.events(run.id)
    return {"plain": {"events": list(map(event_to_json, events))}, "events": events}


def _descriptor(visit: Visit, run: Run) -> dict[str, Any]:
    text = visit.client.runs.text(run.id)
    return {"plain": {"text": text}, "text": text}


def _machine(visit: Visit, run: Run) -> dict[str, Any]:
    record = Record(visit.client.records.files(run))
    environment = visit.client.records.environment(run)
    return {
        "plain": {
            "machine": dict(record.facts),
            "environment": environment_to_json(environment) if environment else None,
        },
        "facts": {name: value for name, value in record.facts.items() if name != "version"},
        "environment": environment,
        "damage": record.damage,
        "executions": record.exit.get("executions", ()),
    }


def _data(visit: Visit, run: Run) -> dict[str, Any]:
    sources = Record(visit.client.records.files(run)).data_sources
    return {"plain": {"sources": list(sources)}, "sources": sources}


def _telemetry(visit: Visit, run: Run) -> dict[str, Any]:
    record = Record(visit.client.records.files(run))
    charts: list[SeriesChart] = []
    damage = ""
    try:
        charts = telemetry.charts(record)
    except DamagedError as error:
        damage = str(error)
    disturbed = (
        [(each.repeat, sentence) for each in record.executions for sentence in record.disturbances(each)]
        if not damage
        else []
    )
    return {
        "charts": [safe(series_figure(chart)) for chart in charts],
        "damage": damage,
        "disturbed": disturbed,
    }


@router.post("/runs/{ref}/cancellation")
def cancel(ref: str, visit: Visiting, why: Annotated[str, Form(max_length=1000)] = "") -> Response:
    """Ask for the cancellation of a run; for one that is final, or was asked before, nothing happens."""
    run = visit.client.runs.get(ref)
    visit.client.runs.cancel([run.id], why=why)
    service_of(visit.request).wrote()
    return visit.to(f"/ui/runs/{run.id}")


@router.post("/runs/{ref}/replay")
def replay(ref: str, visit: Visiting, key: Annotated[str, Form(max_length=100)]) -> Response:
    """Repeat a run once for each form that was shown."""
    run = visit.client.runs.get(ref)

    def act() -> str:
        made = visit.client.runs.replay(run.id).run
        service_of(visit.request).wrote()
        return f"/ui/runs/{made.id}"

    return visit.to(forms.once(visit.person, key, act))
