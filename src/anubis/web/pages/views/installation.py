"""What the installation consists of: machines, the cache of datasets, events, and what the person may do."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Query, Response

from anubis import __version__
from anubis.api.datasets import dataset_to_json
from anubis.api.runs import event_to_json
from anubis.contracts.runs import RunQuery
from anubis.model.access.roles import EVERY_PROJECT
from anubis.model.plain import to_plain
from anubis.model.status import Status
from anubis.record.reading import Record
from anubis.reporting.units import size
from anubis.web.access.decision import EVERYTHING, Decided
from anubis.web.descriptors import MOST_NUMBER
from anubis.web.pages import visit as visits
from anubis.web.pages.visit import Visit, Visiting

router = visits.router()

#: Newest runs whose machines are shown, and events of a page.
_RUNS, _EVENTS = 60, 200
#: A joined worker that asked for longer than this is away, seconds.
_SILENT_S = 60.0


@dataclass(slots=True)
class Used:
    """A machine on which recent runs were measured."""

    host: str
    fingerprint: str
    facts: Mapping[str, Any]
    runs: int = 0
    failed: int = 0
    last_s: float = 0.0
    disturbed: int = 0
    engines: Counter[str] = field(default_factory=Counter)


@router.get("/machines")
def machines(visit: Visiting) -> Response:
    """Joined workers, and the machines of the newest runs."""
    workers = [(each, _state(each.worker, visit.now_s)) for each in visit.client.workers.find()]
    used = _used(visit)
    away = sum(state != "active" for _, state in workers)
    title = f"{len(used)} machine{'s' * (len(used) != 1)} measured the newest runs"
    title += f"; {away} of {len(workers)} joined workers away" if away else ""
    return visit.page(
        "machines.html",
        title=title if used or workers else "No machine has measured a run yet",
        plain=lambda: {
            "workers": [{"worker": to_plain(each.worker), "state": state} for each, state in workers],
            "machines": [
                {
                    "host": each.host,
                    "fingerprint": each.fingerprint,
                    "runs": each.runs,
                    "disturbed": each.disturbed,
                }
                for each in used
            ],
        },
        workers=workers,
        used=used,
        count=_RUNS,
    )


def _state(worker: Any, now_s: float) -> str:
    if worker.revoked_s is not None:
        return "revoked"
    if worker.seen_s is None:
        return "never joined"
    return "active" if now_s - worker.seen_s < _SILENT_S else "silent"


def _used(visit: Visit) -> list[Used]:
    """The machines of the newest runs, the one that was used last first."""
    found: dict[tuple[str, str], Used] = {}
    rows = visit.client.runs.find(RunQuery(statuses=(Status.SUCCEEDED, Status.FAILED), limit=_RUNS))
    points = visit.client.results.points([row.id for row in rows])
    disturbed = {point.run_id for point in points if point.contaminated}
    for row in rows:
        facts = Record(visit.client.records.files(visit.client.runs.get(row.id))).facts
        if not facts:
            continue
        key = str(facts.get("hostname", "")), str(facts.get("fingerprint", ""))
        one = found.setdefault(key, Used(*key, facts))
        one.runs += 1
        one.failed += row.status is Status.FAILED
        one.disturbed += row.id in disturbed
        one.last_s = max(one.last_s, row.ended_s or row.created_s)
        one.engines[row.engine] += 1
    return list(found.values())


@router.get("/data")
def data(visit: Visiting) -> Response:
    """The cache of datasets."""
    found = visit.client.datasets.find()
    stored = sum(each.dataset.size_bytes for each in found if each.dataset)
    fetching = sum(each.dataset is None for each in found)
    title = f"{len(found)} dataset{'s' * (len(found) != 1)}, {size(stored)}"
    title += f": {fetching} not complete" if fetching else ""
    return visit.page(
        "data.html",
        title=title if found else "No datasets in the cache",
        plain=lambda: {"datasets": [dataset_to_json(each) for each in found]},
        datasets=found,
    )


@router.get("/events")
def events(visit: Visiting, before: Annotated[int | None, Query(ge=1, le=MOST_NUMBER)] = None) -> Response:
    """The newest events, newest first, or those before a number."""
    last = before - 1 if before else visit.installation.world.events.last()
    start = max(0, last - _EVENTS)
    read = visit.installation.world.events.read(after_seq=start, limit=_EVENTS)
    found = [event for event in reversed(read) if (event.seq or 0) <= last]
    return visit.page(
        "events.html",
        title=f"Events: {found[0].kind.replace('_', ' ')} was the newest"
        if found and not before
        else "Events",
        plain=lambda: {"events": [{"run_id": event.run_id, **event_to_json(event)} for event in found]},
        events=found,
        older=start + 1 if start > 0 else None,
        is_first=before is None,
    )


@router.get("/settings")
def settings(visit: Visiting, allowed: Decided) -> Response:
    """The person, with roles and tokens, and the service."""
    roles = {} if allowed is EVERYTHING else dict(allowed.principal.roles)
    tokens = (
        [each for each in visit.client.access.tokens() if each.user == visit.person] if visit.person else []
    )
    return visit.page(
        "settings.html",
        title=f"Signed in as {visit.person}" if visit.person else "No login is needed on this machine",
        plain=lambda: {
            "name": visit.person,
            "roles": {name: role.value for name, role in roles.items()},
            "tokens": [to_plain(each) for each in tokens],
        },
        roles=sorted(
            (("all projects" if name == EVERY_PROJECT else name), role.value) for name, role in roles.items()
        ),
        tokens=[(each, each.refusal(visit.now_s) or "valid") for each in tokens],
        version=__version__,
        engines=visit.client.runs.engines(),
        service=str(visit.request.base_url).rstrip("/"),
    )
