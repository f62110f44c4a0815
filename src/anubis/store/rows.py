"""Between what things are (``model``) and how rows hold them."""

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

from anubis.model.alert import Alert
from anubis.model.cause import Cause
from anubis.model.delivery import Delivery
from anubis.model.descriptor import Descriptor
from anubis.model.hardware import Cost
from anubis.model.identity import canonical, key_in_project
from anubis.model.plain import from_plain, to_plain
from anubis.model.points import Point, session_id
from anubis.model.run import Event, Placement, Run
from anubis.model.status import Phase
from anubis.store.sql.codes import (
    ALERT_STATE_CODES,
    ALERT_STATES,
    BETTERS,
    CAUSE_CODES,
    CAUSES,
    DELIVERY_STATUS_CODES,
    DELIVERY_STATUSES,
    STATUS_CODES,
    STATUSES,
)
from anubis.store.sql.database import Row
from anubis.store.text import clean, json_text, packed, unpacked


def id_bytes(run_id: str) -> bytes:
    """The 16 bytes of a run id; ValueError for what is no UUID."""
    value = bytes.fromhex(run_id.replace("-", ""))
    if len(value) != 16:
        raise ValueError(f"{run_id!r} is not a run id")
    return value


def id_text(value: bytes) -> str:
    """A run id as people see it."""
    digits = value.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def descriptor_values(run: Run) -> dict[str, Any]:
    """Parameters of ``add_descriptor``, except the number of the series key."""
    descriptor = run.descriptor
    labels, subject = descriptor.info.labels, descriptor.subject
    return {
        "digest": bytes.fromhex(run.digest),
        "name": clean(descriptor.info.name),
        "subject": clean(subject.commit or subject.version or ""),
        "labels": json_text(labels) if labels else None,
        "body": packed(canonical(descriptor)),
    }


@lru_cache(maxsize=1024)
def descriptor_of(body: bytes) -> Descriptor:
    """The descriptor that was packed; runs of a sweep and re-runs share one object."""
    return from_plain(Descriptor, json.loads(unpacked(body)))


def new_run_values(
    run: Run, words: dict[str, int], descriptor: int, text: int, project: int = 1
) -> dict[str, Any]:
    """Parameters of ``add_run``."""
    return {
        "id": id_bytes(run.id),
        "descriptor": descriptor,
        "text": text,
        "client": words[clean(run.owner)],
        "engine": words[clean(run.engine)],
        "folder": words[clean(run.folder)] if run.folder is not None else None,
        "family": words[clean(run.family_id)] if run.family_id is not None else None,
        "parent": id_bytes(run.parent_id) if run.parent_id is not None else None,
        "cell": json_text(run.cell) if run.cell else None,
        "overrides": json_text(run.overrides) if run.overrides else None,
        "needs": json_text(run.needs) if run.needs else None,
        "cancel": int(run.cancel_requested),
        "priority": run.descriptor.info.priority,
        "created_s": run.created_s,
        "order_s": run.order_s,
        "session": None,
        "series": None,
        "project": project,
        "ready_s": None if run.status.final else run.due_s,
        **step_values(run),
    }


def step_values(run: Run) -> dict[str, Any]:
    """Parameters of ``apply``, except who holds the run: what a step may change."""
    return {
        "status": STATUS_CODES[run.status],
        "cause": None if run.cause is None else CAUSE_CODES[run.cause],
        "attempt": run.attempt,
        "due_s": run.due_s,
        "placed_s": run.placed_s,
        "ended_s": run.ended_s,
        "reason": clean(run.reason),
        "placement": _placement_text(run.placement),
        "phase": run.phase,
        "phase_s": run.phase_s,
        "cost": None if run.cost is None else run.cost.amount,
        "currency": None if run.cost is None else run.cost.currency,
    }


def _placement_text(placement: Placement | None) -> str | None:
    return json_text([placement.engine, placement.name, placement.details]) if placement else None


def _placement(text: str | None) -> Placement | None:
    if text is None:
        return None
    engine, name, details = json.loads(text)
    return Placement(engine=engine, name=name, details=details)


def cause_of(code: int | None) -> Cause | None:
    """The cause behind a number."""
    return None if code is None else CAUSES[code]


def run_of(row: Row) -> Run:
    """A row of ``get`` or ``claimed``."""
    return Run(
        id=id_text(row.id),
        descriptor=descriptor_of(row.body),
        digest=row.digest.hex(),
        series_key=key_in_project(row.series_key, row.project),
        owner=row.client,
        engine=row.engine,
        status=STATUSES[row.status],
        created_s=row.created_s,
        due_s=row.due_s,
        family_id=row.family,
        parent_id=None if row.parent is None else id_text(row.parent),
        attempt=row.attempt,
        placement=_placement(row.placement),
        reason=row.reason,
        cause=cause_of(row.cause),
        placed_s=row.placed_s,
        ended_s=row.ended_s,
        cancel_requested=bool(row.cancel),
        folder=row.folder,
        order_s=row.order_s,
        cell=object_of(row.cell),
        overrides=object_of(row.overrides),
        phase=None if row.phase is None else Phase(row.phase),
        phase_s=row.phase_s,
        needs=tuple(json.loads(row.needs)) if row.needs else (),
        cost=cost_of(row),
        project=row.project,
    )


def cost_of(row: Row) -> Cost | None:
    """The cost of a run, from its two columns."""
    return None if row.currency is None else Cost(amount=row.cost, currency=row.currency)


def object_of(text: str | None) -> dict[str, Any]:
    """A stored JSON object; empty if there is none."""
    return json.loads(text) if text else {}


def event_values(event: Event, seq: int, words: dict[str, int]) -> dict[str, Any]:
    """Parameters of ``add_event``."""
    return {
        "seq": seq,
        "run_id": id_bytes(event.run_id),
        "kind": words[clean(event.kind)],
        "actor": words[clean(event.actor)] if event.actor else None,
        "time_s": event.time_s,
        "message": clean(event.message) or None,
        "data": json_text(event.data) if event.data else None,
    }


def event_of(row: Row) -> Event:
    """A row of ``events``."""
    return Event(
        run_id=id_text(row.id),
        kind=row.kind,
        time_s=row.time_s,
        message=row.message or "",
        data=json.loads(row.data) if row.data else {},
        actor=row.actor or "",
        seq=row.seq,
    )


def alert_values(alert: Alert) -> dict[str, Any]:
    """Parameters of ``put_alert``."""
    return {
        "id": alert.id,
        "benchmark": clean(alert.benchmark),
        "state": ALERT_STATE_CODES[alert.state],
        "opened_s": alert.opened_s,
        "body": json_text(to_plain(alert)),
        "version": alert.version + 1,
        "expected": alert.version,
    }


def alert_of(row: Row) -> Alert:
    """A row of ``alert`` or ``list_alerts``."""
    return replace(from_plain(Alert, json.loads(row.body)), version=row.version)


def delivery_values(delivery: Delivery) -> dict[str, Any]:
    """Parameters of ``add_delivery``; the run may have been removed."""
    return {
        "alert": delivery.alert_id,
        "state": ALERT_STATE_CODES[delivery.state],
        "address": clean(delivery.to),
        "run_id": None if delivery.run_id is None else id_bytes(delivery.run_id),
        "created_s": delivery.created_s,
        "due_s": delivery.due_s,
        "status": DELIVERY_STATUS_CODES[delivery.status],
        "attempts": delivery.attempts,
    }


def outcome_values(delivery: Delivery) -> dict[str, Any]:
    """Parameters of ``apply_delivery``, except who holds it."""
    return {
        "no": delivery.no,
        "state": ALERT_STATE_CODES[delivery.state],
        "address": clean(delivery.to),
        "status": DELIVERY_STATUS_CODES[delivery.status],
        "attempts": delivery.attempts,
        "error": clean(delivery.error) or None,
        "due_s": delivery.due_s,
        "ended_s": delivery.ended_s,
    }


def delivery_of(row: Row) -> Delivery:
    """A row of ``deliveries`` or ``claimed_deliveries``."""
    return Delivery(
        alert_id=row.alert,
        state=ALERT_STATES[row.state],
        to=row.address,
        run_id=None if row.id is None else id_text(row.id),
        created_s=row.created_s,
        due_s=row.due_s,
        status=DELIVERY_STATUSES[row.status],
        attempts=row.attempts,
        error=row.error or "",
        ended_s=row.ended_s,
        no=row.no,
    )


def number(value: float | None) -> float:
    """A stored value; SQLite keeps "not a number" as NULL."""
    return float("nan") if value is None else value


def point_of(row: Row) -> Point:
    """A row of ``points`` or ``history``."""
    return Point(
        run_id=id_text(row.id),
        series_key=row.series_key,
        fingerprint=row.fingerprint,
        metric=row.name,
        units=row.units,
        value=number(row.value),
        spread=row.spread,
        count=row.count,
        better=BETTERS[row.better],
        order_s=row.order_s,
        subject=row.subject,
        contaminated=bool(row.contaminated),
        session=session_of(row),
    )


def session_of(row: Row) -> str:
    """The id of the session of a row with ``machine`` and ``start_s``; empty if it has none."""
    return "" if row.machine is None else session_id(row.machine, row.start_s)
