"""What operators see: files that garbage collection deletes, held runs, what retention deletes, and webhooks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anubis.api.json_values import Json
from anubis.contracts.events import Sink, SinkState
from anubis.contracts.garbage import Expired, Garbage, Hold
from anubis.contracts.runs import Part
from anubis.model.delivery import redacted


def garbage_to_json(garbage: Garbage) -> Json:
    return {"kind": garbage.kind, "path": str(garbage.path), "size_bytes": garbage.size_bytes}


def garbage_from_json(plain: Mapping[str, Any]) -> Garbage:
    path = plain["path"]
    is_address = path.startswith("s3://")
    return Garbage(
        kind=plain["kind"], path=path if is_address else Path(path), size_bytes=plain["size_bytes"]
    )


def sink_to_json(sink: Sink) -> Json:
    """A webhook without its secret and without the secret parts of its address."""
    return {
        "id": sink.id,
        "address": redacted(sink.address),
        "kinds": list(sink.kinds),
        "created_s": sink.created_s,
        "state": sink.state.value,
        "cursor": sink.cursor,
        "behind": sink.behind,
        "delivered": sink.delivered,
        "delivered_s": sink.delivered_s,
        "attempts": sink.attempts,
        "due_s": sink.due_s,
        "error": sink.error,
    }


def sink_from_json(plain: Mapping[str, Any]) -> Sink:
    """The sink, without its secret."""
    changes = {"kinds": tuple(plain["kinds"]), "state": SinkState(plain["state"]), "secret": ""}
    return Sink(**{**plain, **changes})


def hold_to_json(hold: Hold) -> Json:
    return {"run_id": hold.run_id, "why": hold.why, "actor": hold.actor, "created_s": hold.created_s}


def hold_from_json(plain: Mapping[str, Any]) -> Hold:
    return Hold(**plain)


def expired_to_json(expired: Expired) -> Json:
    """What retention deletes; without parts: the run with everything."""
    return {
        "run_id": expired.run_id,
        "name": expired.name,
        "ended_s": expired.ended_s,
        "parts": [part.value for part in expired.parts],
    }


def expired_from_json(plain: Mapping[str, Any]) -> Expired:
    return Expired(**{**plain, "parts": tuple(map(Part, plain["parts"]))})
