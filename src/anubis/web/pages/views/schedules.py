"""Schedules: when they are due next, and what happened to their latest due times."""

from typing import Annotated

from fastapi import Form, Response

from anubis.api.schedules import due_time_to_json, schedule_to_json
from anubis.contracts.schedules import DueState
from anubis.web.pages import forms
from anubis.web.pages import visit as visits
from anubis.web.pages.parts.formats import segment
from anubis.web.pages.visit import Visiting
from anubis.web.service import service_of

router = visits.router()

#: Due times of the list and of one schedule.
_LATEST, _SHOWN = 1, 50


@router.get("/schedules")
def schedules(visit: Visiting) -> Response:
    """All schedules."""
    found = visit.client.schedules.find()
    latest = {each.id: visit.client.schedules.due_times(each.id, limit=_LATEST) for each in found}
    paused = sum(each.paused_s is not None for each in found)
    failed = sum(bool(due) and due[0].state is DueState.FAILED for due in latest.values())
    words = [f"{failed} failed last time"] * bool(failed) + [f"{paused} paused"] * bool(paused)
    count = f"{len(found)} schedule{'s' * (len(found) != 1)}"
    return visit.page(
        "schedules.html",
        title=f"{count}: {', '.join(words) or 'all active'}" if found else "No schedules yet",
        plain=lambda: {"schedules": list(map(schedule_to_json, found))},
        schedules=[(each, latest[each.id]) for each in found],
    )


@router.get("/schedules/{ref}")
def show(ref: str, visit: Visiting) -> Response:
    """One schedule."""
    found = visit.client.schedules.get(ref)
    due = visit.client.schedules.due_times(found.id, limit=_SHOWN)
    state = "paused" if found.paused_s is not None else "active"
    return visit.page(
        "schedule.html",
        title=f"Schedule {found.name}: {state}",
        plain=lambda: {**schedule_to_json(found), "due_times": list(map(due_time_to_json, due))},
        schedule=found,
        due_times=due,
        text=visit.client.schedules.text(found.id),
    )


@router.post("/schedules/{ref}/phase")
def change(
    *,
    ref: str,
    visit: Visiting,
    to: Annotated[str, Form(pattern="pause|resume")],
    why: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Pause a schedule, or resume it."""
    found = visit.client.schedules.get(ref)
    if to == "pause" and found.paused_s is None:
        visit.client.schedules.pause(found.id, why=why)
    if to == "resume" and found.paused_s is not None:
        visit.client.schedules.resume(found.id)
    return visit.to(f"/ui/schedules/{segment(found.name)}")


@router.post("/schedules/{ref}/trigger")
def trigger(ref: str, visit: Visiting, key: Annotated[str, Form(max_length=100)]) -> Response:
    """Submit its runs now, once for each form that was shown."""
    found = visit.client.schedules.get(ref)

    def act() -> str:
        runs = visit.client.schedules.trigger(found.id)
        service_of(visit.request).wrote()
        return f"/ui/runs/{runs[0].id}"

    return visit.to(forms.once(visit.person, key, act))
