"""Schedules and their due times, triggers and their deliveries."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from anubis.api.json_values import Json
from anubis.contracts.schedules import DueTime, Schedule
from anubis.contracts.service.triggers import Trigger, TriggerDelivery
from anubis.model.plain import from_plain, to_plain

#: Fields with a meaning only for the store and the scheduler.
_INTERNAL = {"ready_s", "version", "failures_since_s"}


def schedule_to_json(schedule: Schedule) -> Json:
    """A schedule as listings show it."""
    return {
        spec.name: to_plain(getattr(schedule, spec.name))
        for spec in fields(Schedule)
        if spec.name not in _INTERNAL
    }


def schedule_from_json(plain: Mapping[str, Any]) -> Schedule:
    return from_plain(Schedule, dict(plain))


def due_time_to_json(due: DueTime) -> Json:
    """What happened to a due time."""
    return {spec.name: to_plain(getattr(due, spec.name)) for spec in fields(DueTime)}


def due_time_from_json(plain: Mapping[str, Any]) -> DueTime:
    return from_plain(DueTime, dict(plain))


def trigger_to_json(trigger: Trigger) -> Json:
    """A trigger; ``secret`` is the name of its secret."""
    return {spec.name: to_plain(getattr(trigger, spec.name)) for spec in fields(Trigger)}


def trigger_from_json(plain: Mapping[str, Any]) -> Trigger:
    return from_plain(Trigger, dict(plain))


def delivery_to_json(delivery: TriggerDelivery) -> Json:
    """What happened to a report."""
    return {spec.name: to_plain(getattr(delivery, spec.name)) for spec in fields(TriggerDelivery)}


def delivery_from_json(plain: Mapping[str, Any]) -> TriggerDelivery:
    return from_plain(TriggerDelivery, dict(plain))
