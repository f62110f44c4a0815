"""Stores the run or the schedule that an old client submits."""

import hashlib
from dataclasses import replace
from pathlib import Path

from anubis.client import Client
from anubis.client.embedded import submission
from anubis.describe.drafting import DescriptorText
from anubis.model.descriptor import SINGLE_RUN, Descriptor
from anubis.model.errors import BadInputError, ConflictError
from anubis.submission import descriptor_files
from anubis.web.access.decision import EVERYTHING, Allowed
from anubis.web.descriptors import check_alone
from anubis.web.legacy import scripts
from anubis.web.legacy.submit_event import ScriptFile, SubmitEvent, refused
from anubis.wiring import Installation


def as_client(installation: Installation, client_id: str, allowed: Allowed) -> Installation:
    """The installation, as the old client with this id uses it; in a service with users as the user of the token."""
    if allowed is not EVERYTHING:
        return installation
    return replace(installation, settings=replace(installation.settings, client_id=client_id))


def submit(
    installation: Installation, event: SubmitEvent, script: ScriptFile | None, allowed: Allowed
) -> str:
    """The id of the run or schedule. The same event stores its run once; what is refused stores nothing.

    Raises BadInputError.
    """
    installation = as_client(installation, event.client_id, allowed)
    runs = installation.world.runs
    content = "\n".join((event.text, event.name, script.key if script else ""))
    digest = hashlib.sha256(content.encode()).hexdigest()
    # The name of a project contains no colon, so no other interface makes this key.
    key = f"legacy:{installation.settings.project}/{event.client_id}/{event.message_id}"
    try:
        if (known := runs.submission(key)) is None:
            return _stored(installation, event, script, (key, digest))
    except ConflictError:  # the same event arrived twice at the same time
        if (known := runs.submission(key)) is None:
            raise
    except BadInputError as error:
        raise _in_old_words(error) from error
    if known.digest != digest:
        raise refused(f"the message {event.message_id} was sent before with another descriptor")
    return known.run_ids[0]


def _stored(
    installation: Installation, event: SubmitEvent, script: ScriptFile | None, key: tuple[str, str]
) -> str:
    check_alone(event.text, event.name)
    text = DescriptorText(text=event.text, folder=Path.cwd(), name=event.name)
    descriptor = descriptor_files.descriptor_of(text, overrides={})[1]
    archive = script.key if script else _named(installation, descriptor)
    objects = installation.world.objects
    if descriptor.info.scheduling != SINGLE_RUN:
        if script:
            scripts.store(objects, script)
        client = Client("anubis.client.embedded", installation)
        return client.schedules.add(text, script=archive).schedule.id
    submission.prepared(installation, [text], overrides={}, script=archive, warned=None)
    if script:  # only now: a refused submission stores nothing
        scripts.store(objects, script)
    submitted = submission.submit(
        installation, [text], overrides={}, script=archive, rounds=1, control=False, warned=None, key=key
    )
    return submitted[0].id


def _named(installation: Installation, descriptor: Descriptor) -> str | None:
    """The key of the archive that the descriptor names. Raises BadInputError if it is not stored."""
    script = descriptor.ml.script
    if script is None:
        return None
    if key := scripts.stored(installation.world.objects, script.script):
        return key
    raise BadInputError(
        f"the script archive {script.script} is not stored", remedy="submit with --script and --force"
    )


def _in_old_words(error: BadInputError) -> BadInputError:
    if error.message.startswith("Could Not Parse"):
        return error
    about = [error.message]
    for problem in error.problems:
        line = f" (line {problem.line})" if problem.line else ""
        about.append(f"{problem.path}{line}: {problem.message}")
    new = refused("; ".join(about), *error.problems)
    new.remedy = error.remedy or "correct the descriptor"
    return new
