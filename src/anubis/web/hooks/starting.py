"""Submits the descriptors of a trigger for a change, once for each delivery."""

import hashlib
from dataclasses import replace
from pathlib import Path

from anubis.client.embedded import submission
from anubis.client.embedded.triggers import signing_secret
from anubis.contracts.service.triggers import DeliveryState, Trigger, TriggerDelivery
from anubis.describe.drafting import DescriptorText
from anubis.model.errors import AnubisError, BadInputError, ConflictError, NotFoundError, StoreError
from anubis.web.hooks import signatures
from anubis.web.hooks.changes import Change, read, why_not
from anubis.wiring import Installation

#: Deliveries are kept for this long, seconds.
KEPT_S = 90 * 86_400.0


def signed_trigger(
    installation: Installation, name: str, headers: dict[str, str], token: str, body: bytes
) -> Trigger | None:
    """The trigger of this name if the report is signed with its secret; None otherwise, whatever the reason is."""
    try:
        trigger = installation.store.triggers.get(name)
        secret = signing_secret(installation, trigger.project, trigger.secret)
    except (NotFoundError, BadInputError):
        return None
    now_s = installation.clock.now_s()
    is_valid = signatures.is_valid(trigger.kind, secret, headers=headers, token=token, body=body, now_s=now_s)
    return trigger if is_valid else None


def deliver(
    installation: Installation, trigger: Trigger, headers: dict[str, str], body: bytes
) -> list[TriggerDelivery]:
    """What happened to each change of a signed report. A delivery that was decided before is not repeated.

    Raises BadInputError if the report cannot be read, and StoreError.
    """
    return [_decided(installation, trigger, change) for change in read(trigger.kind, headers, body)]


def _decided(installation: Installation, trigger: Trigger, change: Change) -> TriggerDelivery:
    stored = installation.store.triggers
    before = stored.delivery(trigger.full_name, change.delivery)
    if before and before.state is not DeliveryState.FAILED:
        return before
    now_s = installation.clock.now_s()
    about = TriggerDelivery(
        trigger=trigger.full_name,
        id=change.delivery,
        received_s=now_s,
        state=DeliveryState.SKIPPED,
        change=str(change),
    )
    if reason := why_not(trigger, change):
        decided = replace(about, reason=reason)
    else:
        try:
            run_ids = _started(installation, trigger, change)
            decided = replace(about, state=DeliveryState.STARTED, run_ids=run_ids)
        except StoreError:
            raise
        except AnubisError as error:
            decided = replace(about, state=DeliveryState.FAILED, reason=_reason(error))
    return stored.note(decided, forget_before_s=now_s - KEPT_S)


def _started(installation: Installation, trigger: Trigger, change: Change) -> tuple[str, ...]:
    """The ids of the runs, which are stored with the delivery as their key: a repetition after a crash finds them."""
    settings = replace(installation.settings, client_id=trigger.owner, project=trigger.project)
    key = hashlib.sha256(f"{trigger.full_name}/{trigger.created_s!r}/{change.delivery}".encode()).hexdigest()
    key = f"trigger/{key}"
    runs = installation.world.runs
    try:
        if (known := runs.submission(key)) is None:
            submitted = submission.submit(
                replace(installation, settings=settings),
                [_text(each.text, each.name, each.folder, change) for each in trigger.descriptors],
                overrides={**trigger.overrides, **_filled(change)},
                script=trigger.script,
                rounds=1,
                control=False,
                warned=None,
                key=(key, change.delivery),
            )
            return tuple(run.id for run in submitted)
    except ConflictError:  # the same delivery arrived twice at the same time
        if (known := runs.submission(key)) is None:
            raise
    return known.run_ids


def _text(text: str, name: str, folder: str, change: Change) -> DescriptorText:
    commits = {change.commit: (change.commit, change.time_s)} if change.commit and change.time_s else {}
    return DescriptorText(text=text, folder=Path(folder), name=name, commits=commits)


def _filled(change: Change) -> dict[str, str]:
    """The fields of a descriptor that a change decides."""
    if change.image:
        return {"env.docker_image": change.image, "subject.version": change.image.rpartition("/")[2]}
    return {"subject.commit": change.commit}


def _reason(error: AnubisError) -> str:
    """The error with all problems of the descriptors."""
    problems = error.problems if isinstance(error, BadInputError) else ()
    return "; ".join((str(error), *(f"{each.path}: {each.message}" for each in problems)))
