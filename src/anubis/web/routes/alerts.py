"""Alerts, their events and deliveries, and decisions about them."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from anubis.api.alerts import alert_to_json, delivery_to_json
from anubis.api.runs import event_to_json
from anubis.judging.alert_triage import TriageAction
from anubis.model.alert import AlertState
from anubis.web.answers import Answer, NounRoute
from anubis.web.descriptors import Strict
from anubis.web.service import Asking

router = APIRouter(route_class=NounRoute, tags=["alerts"])


class DecisionBody(Strict):
    """A decision about an alert."""

    decision: TriageAction = Field(strict=False)
    why: str
    until_s: float | None = Field(None, description="End of a muting, UTC seconds.")


@router.get("/alerts", summary="List alerts")
def find(
    client: Asking,
    state: Annotated[list[AlertState], Query()] = [],  # noqa: B006  read only
    benchmark: str | None = None,
) -> Response:
    """Alerts in their current state, newest first."""
    return Answer({"alerts": list(map(alert_to_json, client.alerts.find(states=state, benchmark=benchmark)))})


@router.get("/alerts/{alert_id}", summary="One alert")
def get(alert_id: str, client: Asking) -> Response:
    """An alert by id or unique prefix, and all its events."""
    alert, events = client.alerts.get(alert_id)
    shown = [{"run_id": event.run_id, **event_to_json(event)} for event in events]
    return Answer({"alert": alert_to_json(alert), "events": shown})


@router.get("/alerts/{alert_id}/deliveries", summary="Deliveries of an alert")
def deliveries(alert_id: str, client: Asking) -> Response:
    """The deliveries to each address, pending ones included, in order. Addresses are redacted."""
    return Answer({"deliveries": list(map(delivery_to_json, client.alerts.deliveries(alert_id)))})


@router.post("/alerts/{alert_id}/decisions", summary="Decide about an alert")
def decide(alert_id: str, body: DecisionBody, client: Asking) -> Response:
    """The alert after the decision, which is stored with actor, time and reason."""
    alert = client.alerts.decide(alert_id, body.decision, why=body.why, until_s=body.until_s)
    return Answer(alert_to_json(alert))
