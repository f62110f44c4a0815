"""The status events of the old system, made from the events of runs and the due times of schedules."""

import base64
import hashlib
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from anubis import __version__
from anubis.api.json_values import Json
from anubis.contracts.schedules import DueState, DueTime, Schedule
from anubis.model.run import CANCEL_EVENT, FETCHED_EVENT, Event, Run
from anubis.model.status import Status
from anubis.reporting.status_words import event_word

#: The version as three numbers, as old clients expect it.
VERSION = ".".join(__version__.split(".")[:3])
STATUS, COMMAND_RETURN = "BAI_APP_STATUS", "CMD_RETURN"
#: Texts by which the old client ends ``--watch --terminate``, so no other message contains them.
FINISHED, FAILED = "Benchmark finished", "Benchmark failed"
_ENDS = re.compile(rf"({FINISHED[:9]}) (?=finished|failed)", re.IGNORECASE)
_CURSOR = re.compile(r"(\d{1,15})(?::([0-9a-fA-F-]{36}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """What the statuses of one action have in common."""

    action_id: str
    parent_id: str | None
    client_id: str
    #: The descriptor as it was submitted.
    text: str
    name: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place of an answer in the statuses of an action (the parameter ``since``)."""

    ms: int = 0
    #: Id of the last message that the client has; empty: the time itself is included.
    message_id: str = ""

    @classmethod
    def read(cls, text: str) -> "Cursor | None":
        """The cursor of ``<ms>`` or ``<ms>:<id>``; None if the text is neither."""
        found = _CURSOR.fullmatch(text)
        return cls(int(found[1]), (found[2] or "").lower()) if found else None


def message_id(action_id: str, seq: int, part: int = 0) -> str:
    """The id of the status of an event: its first group differs between events, and ids of one action are in their order."""
    tag = hashlib.sha256(f"{action_id}/{seq}/{part}".encode()).hexdigest()
    return f"{seq & 0xFFFFFFFF:08x}-{seq >> 32 & 0xFFFF:04x}-8{part:03x}-8{tag[:3]}-{tag[3:15]}"


def place_of(action_id: str, message: str) -> tuple[int, int] | None:
    """Number of the event and part of a message id of ``message_id``; None for any other id."""
    try:
        seq = int(message[9:13], 16) << 32 | int(message[:8], 16)
        part = int(message[15:18], 16)
    except ValueError:
        return None
    return (seq, part) if message_id(action_id, seq, part) == message else None


def of_event(action: Action, run: Run, event: Event, url: str) -> list[Json]:
    """The statuses of an event of a run; ``url`` is the address of the run."""
    said = list(_said(run, event, url))
    found = []
    for part, (service, status, message) in enumerate(said):
        payload: dict[str, Any] = {"status": status, "message": message}
        if event.kind == "submitted":
            payload["toml"] = _descriptor(action)
        number = message_id(action.action_id, event.seq or 0, part)
        found.append(_envelope(action, number, event.time_s, service, payload))
    return found


def _said(run: Run, event: Event, url: str) -> Iterator[tuple[str, str, str]]:
    """Service, status and message of each status of an event."""
    if event.kind == "submitted":
        yield "bai-bff", "SUCCEEDED", "Submission has been successfully received..."
    elif event.kind == FETCHED_EVENT:
        yield "fetcher-dispatcher", "SUCCEEDED", "All downloads processed"
    elif event.kind == "placed":
        yield "executor", "SUCCEEDED", "Benchmark successfully created..."
        yield "watcher", "RUNNING", "Benchmark running"
    elif event.kind == CANCEL_EVENT:
        yield "executor", "PENDING", "Cancelling the benchmark..."
    elif event.kind == "final":
        yield from _ended(run, event, url)
    else:
        about = f"{event_word(event.kind)}: {event.message}" if event.message else event_word(event.kind)
        yield "watcher", "PENDING", neutral(about)


def _ended(run: Run, event: Event, url: str) -> Iterator[tuple[str, str, str]]:
    status = event.data.get("status")
    if status == Status.SUCCEEDED:
        yield "watcher", "METRICS AVAILABLE", f"Metrics available for job {run.id} at {url}"
        yield "watcher", "SUCCEEDED", f"{FINISHED} successfully"
    elif status == Status.CANCELLED:
        yield "watcher", "CANCELED", f"{FAILED}: it was cancelled. {neutral(event.message)}".rstrip()
    else:
        cause = event.data.get("cause", "unknown")
        yield "watcher", "FAILED", f"{FAILED} ({cause}): {neutral(event.message)}"


def neutral(text: str) -> str:
    """The text without the phrases that end ``--watch --terminate``: it may be output of a benchmark."""
    return _ENDS.sub(r"\1: ", text)


def of_schedule(action: Action, schedule: Schedule, due_times: list[DueTime]) -> list[Json]:
    """The statuses of a schedule, oldest first: its submission, and each due time with a decision."""
    first = {
        "status": "SUCCEEDED",
        "message": f"Scheduled benchmark successfully submitted with job id {schedule.id}",
        "toml": _descriptor(action),
    }
    found = [_envelope(action, _derived(schedule.id, "added"), schedule.created_s, "executor", first)]
    for due in due_times:
        if due.state is DueState.STARTED and due.run_id:
            payload = {
                "status": "SUCCEEDED",
                "message": f"Spawning benchmark with action_id: [{due.run_id}]",
            }
        else:
            status = "FAILED" if due.state is DueState.FAILED else "PENDING"
            payload = {"status": status, "message": neutral(f"due time {due.state.value}: {due.reason}")}
        number = _derived(schedule.id, f"{due.due_s!r}/{due.state.value}")
        found.append(_envelope(action, number, due.noted_s, "anubis-cron-job", payload))
    if schedule.paused_s is not None:
        payload = {
            "status": "CANCELED",
            "message": f"{FAILED}: the schedule is paused. {neutral(schedule.pause_reason)}",
        }
        number = _derived(schedule.id, f"paused/{schedule.paused_s!r}")
        found.append(_envelope(action, number, schedule.paused_s, "executor", payload))
    return sorted(found, key=lambda each: (each["tstamp"], each["message_id"]))


def of_command(action: Action, command_id: str, events: list[Event]) -> list[Json]:
    """The statuses of a command to cancel an action, and its return value."""
    if not events:
        return []
    target, first = action.action_id, events[0]
    command = Action(
        action_id=command_id, parent_id=None, client_id=action.client_id, text=action.text, name=action.name
    )
    received = {
        "status": "PENDING",
        "message": f"Action received, dispatching delete for {target}",
    }
    returned = {
        "return_code": 0,
        "message": "Execution successfully cancelled...",
        "cmd_submit": {"command": "cancel", "args": {"target_action_id": target}},
        "return_value": sorted({event.run_id for event in events}),
    }
    seq = first.seq or 0
    return [
        _envelope(command, message_id(command_id, seq), first.time_s, "bai-bff", received),
        _envelope(
            command, message_id(command_id, seq, 1), first.time_s, "executor", returned, kind=COMMAND_RETURN
        ),
    ]


def after(action_id: str, statuses: list[Json], cursor: Cursor) -> list[Json]:
    """The statuses after a cursor, which are in order."""
    known = place_of(action_id, cursor.message_id) if cursor.message_id else None
    if known is not None:  # the number of an event does not depend on clocks
        return [each for each in statuses if (place_of(action_id, each["message_id"]) or (0, 0)) > known]
    start = (cursor.ms, cursor.message_id)
    if not cursor.message_id:
        return [each for each in statuses if each["tstamp"] >= cursor.ms]
    return [each for each in statuses if (each["tstamp"], each["message_id"]) > start]


def command_id(action_id: str) -> str:
    """The id of the command that cancels an action, and the action of a command: the UUID with another version."""
    return f"{action_id[:14]}{int(action_id[14], 16) ^ 0xF:x}{action_id[15:]}"


def _derived(schedule_id: str, what: str) -> str:
    tag = hashlib.sha256(f"{schedule_id}/{what}".encode()).hexdigest()
    return f"{tag[:8]}-{tag[8:12]}-8{tag[12:15]}-8{tag[15:18]}-{tag[18:30]}"


def _descriptor(action: Action) -> Json:
    content = action.text.encode()
    return {
        "doc": base64.b64encode(content).decode(),
        "sha1": hashlib.sha1(content, usedforsecurity=False).hexdigest(),
        "descriptor_filename": neutral(action.name),
        "verified": True,
    }


def _envelope(
    action: Action, number: str, time_s: float, service: str, payload: dict[str, Any], *, kind: str = STATUS
) -> Json:
    ms = int(time_s * 1000)
    parent = {"parent_action_id": action.parent_id} if action.parent_id else {}
    return {
        "action_id": action.action_id,
        **parent,
        "message_id": number,
        "client_id": action.client_id,
        "client_version": VERSION,
        "client_username": action.client_id,
        "authenticated": False,
        "tstamp": ms,
        "visited": [{"svc": service, "tstamp": ms, "version": VERSION, "node": _node()}],
        "type": kind,
        "payload": payload,
    }


@lru_cache(1)
def _node() -> str:
    return socket.gethostname()
