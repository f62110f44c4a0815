"""The messages between a joined worker and its service, and joined workers as JSON.

Fields that a receiver does not know are ignored, and missing ones have their defaults, so worker and service can be
upgraded in any order. ``PROTOCOL`` changes only when an older receiver would misunderstand a message.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from anubis.api.json_values import Json
from anubis.model.access.roles import EVERYTHING
from anubis.model.errors import BadInputError
from anubis.model.machines.joined import Assignment, JoinedWorker, Report
from anubis.model.plain import from_plain, to_plain

T = TypeVar("T")
#: Version of the protocol, and the oldest one that this release understands.
PROTOCOL, OLDEST = 1, 1
#: Shared prefix of the routes, below that of the interface.
TURN, ATTEMPTS = "worker/turn", "worker/attempts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The request of a worker: what it is, and the state of all its attempts."""

    protocol: int
    #: Random id of its home folder.
    place: str
    release: str = ""
    host: str = ""
    labels: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    slots: int = 1
    #: Facts about the machine; None: unchanged.
    facts: dict[str, Any] | None = None
    reports: tuple[Report, ...] = ()
    #: The answer may come so late if the orders are still those of ``tag``; seconds.
    wait_s: float = 0.0
    #: Of the last answer.
    tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One attempt that the worker must have. It ends every other one."""

    run_id: str
    attempt: int
    cancel: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """The answer: all attempts of the worker."""

    protocol: int
    name: str = ""
    release: str = ""
    #: After so many seconds without a request, the attempts of the worker are lost.
    lease_s: float = 30.0
    tag: str = ""
    orders: tuple[Order, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a worker needs to start an attempt."""

    protocol: int
    #: The run in the form of ``run_details_to_json``.
    run: dict[str, Any]
    #: The variables that the descriptor names in ``env.inherit``, and the secrets that it refers to.
    variables: dict[str, str] = field(default_factory=dict, repr=False)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    #: What the project of the run permits.
    permits: tuple[str, ...] = EVERYTHING
    #: Authorises the shipping of the record of this attempt, and nothing else.
    token: str = field(default="", repr=False)


def to_json(message: Turn | Orders | Work) -> Json:
    """A message."""
    plain: Json = to_plain(message)
    return plain


def turn_from_json(plain: Any) -> Turn:
    return _message(Turn, plain, "worker", "service")


def orders_from_json(plain: Any) -> Orders:
    return _message(Orders, plain, "service", "worker")


def work_from_json(plain: Any) -> Work:
    return _message(Work, plain, "service", "worker")


def _message(kind: type[T], plain: Any, sender: str, receiver: str) -> T:
    """Raises BadInputError for another version of the protocol, and for what is not a message."""
    protocol = plain.get("protocol") if isinstance(plain, dict) else None
    if not isinstance(protocol, int) or isinstance(protocol, bool):
        raise BadInputError(
            f"the {sender} sent something that is not a message of the protocol of workers",
            remedy="check the address, and that both are releases of Anubis with joined workers",
        )
    if not OLDEST <= protocol <= PROTOCOL:
        old = sender if protocol < OLDEST else receiver
        raise BadInputError(
            f"the {sender} speaks version {protocol} of the protocol of workers, and this {receiver} speaks {_spoken()}",
            remedy=f"upgrade Anubis on the machine of the {old}",
        )
    try:
        return from_plain(kind, plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInputError(f"the {sender} sent a message that is not valid: {error}") from error


def _spoken() -> str:
    return f"version {PROTOCOL}" if OLDEST == PROTOCOL else f"versions {OLDEST} to {PROTOCOL}"


def worker_to_json(worker: JoinedWorker, attempts: Sequence[Assignment]) -> Json:
    """A joined worker without its token, and what it has now."""
    plain: Json = {
        "name": worker.name,
        "host": worker.host,
        "labels": list(worker.labels),
        "engines": list(worker.engines),
        "slots": worker.slots,
        "release": worker.release,
        "protocol": worker.protocol,
        "created_s": worker.created_s,
        "revoked_s": worker.revoked_s,
        "seen_s": worker.seen_s,
        "facts": worker.facts,
        "attempts": [_attempt_to_json(each) for each in attempts if each.worker == worker.name],
    }
    return plain


def worker_from_json(plain: Mapping[str, Any]) -> tuple[JoinedWorker, Sequence[Assignment]]:
    """The worker, and its open attempts."""
    attempts = [from_plain(Assignment, {**each, "worker": plain["name"]}) for each in plain["attempts"]]
    return from_plain(JoinedWorker, dict(plain)), attempts


def _attempt_to_json(each: Assignment) -> Json:
    return {
        "run_id": each.run_id,
        "attempt": each.attempt,
        "queued_s": each.queued_s,
        "assigned_s": each.assigned_s,
        "seen": each.seen.value,
        "reason": each.reason,
        "cancel": each.cancel,
    }
