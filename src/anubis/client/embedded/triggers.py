"""Triggers of this installation."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from anubis.client.embedded import submission
from anubis.client.protocol import triggers as protocol
from anubis.contracts.service.triggers import (
    ChangeKind,
    Trigger,
    TriggerDelivery,
    TriggerDescriptor,
    TriggerKind,
)
from anubis.describe.drafting import DescriptorText
from anubis.model.access.permits import permits
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.labels import is_label
from anubis.model.problem import Problem
from anubis.reporting import name_suggestions
from anubis.submission.descriptor_files import descriptor_of, stored
from anubis.submission.environment.project_secrets import ProjectSecrets
from anubis.submission.environment.secrets import Secrets
from anubis.submission.person import person
from anubis.wiring import Installation

#: What a report fills in, as an example with which the descriptors are checked.
_COMMIT, _IMAGE = "0" * 40, f"registry.example.org/image@sha256:{'0' * 64}"
#: Shortest secret, bytes.
_SHORTEST = 16


class Triggers(protocol.Triggers):
    """``Triggers`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._stored = installation.store.triggers

    def create(
        self,
        name: str,
        files: Sequence[Path | DescriptorText],
        *,
        kind: TriggerKind,
        secret: str,
        changes: Sequence[ChangeKind],
        patterns: Sequence[str] = ("*",),
        repositories: Sequence[str] = ("*",),
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> Trigger:
        installation, values = self._installation, dict(overrides or {})
        _check(name, kind, changes, files)
        project = installation.settings.project or DEFAULT_PROJECT
        given = signing_secret(installation, project, secret)
        if len(given.encode(errors="surrogateescape")) < _SHORTEST:
            raise BadInputError(
                f"the secret {secret} has fewer than {_SHORTEST} bytes", remedy="use a longer random secret"
            )
        key = submission.stored_script(installation, script)
        filled = {"env.docker_image": _IMAGE} if ChangeKind.IMAGE in changes else {"subject.commit": _COMMIT}
        checked = {**values, **filled}
        submission.prepared(installation, files, overrides=checked, script=key, warned=warned)
        trigger = Trigger(
            name=name,
            kind=kind,
            secret=secret,
            changes=tuple(dict.fromkeys(changes)),
            patterns=tuple(patterns),
            repositories=tuple(repositories),
            descriptors=tuple(_descriptor(file, checked) for file in files),
            overrides=values,
            script=key,
            owner=person(installation.settings),
            created_s=installation.clock.now_s(),
            project=project,
        )
        self._stored.add(trigger)
        return trigger

    def get(self, name: str) -> Trigger:
        try:
            return self._stored.get(name)
        except NotFoundError as error:
            known = self._stored.find()
            named = [trigger for trigger in known if trigger.name == name]
            if len(named) == 1:
                return named[0]
            names = [trigger.full_name for trigger in known]
            error.remedy = name_suggestions.remedy(name, names, otherwise=error.remedy)
            raise

    def find(self) -> Sequence[Trigger]:
        return self._stored.find()

    def deliveries(self, name: str, *, limit: int = 20) -> Sequence[TriggerDelivery]:
        return self._stored.deliveries(self.get(name).full_name, limit=limit)

    def remove(self, name: str) -> Trigger:
        trigger = self.get(name)
        self._stored.remove(trigger.full_name)
        return trigger


def signing_secret(installation: Installation, project: str, name: str) -> str:
    """The value with which reports are signed: of a secret of the project, else of one of the installation if permitted.

    Raises BadInputError.
    """
    settings = installation.settings
    own = ProjectSecrets(installation.store.projects, settings.secrets_key).value(project, name)
    if own is not None:
        return own
    permitted = installation.world.projects.permission(project).project.permits
    if not permits(permitted, "secrets"):
        raise BadInputError(
            f"the project {project!r} has no secret {name}, and may not use those of the installation",
            remedy=f"set it: anubis secret set {name} --project {project}",
        )
    return Secrets(settings.secrets, os.environ).value(name)


def _check(
    name: str, kind: TriggerKind, changes: Sequence[ChangeKind], files: Sequence[Path | DescriptorText]
) -> None:
    if not is_label(name):
        raise BadInputError(
            f"{name!r} cannot be the name of a trigger", remedy="use 1 to 63 letters, digits, -, _ and ."
        )
    if not files:
        raise BadInputError("the trigger has no descriptor", remedy="name one descriptor file or more")
    possible = {ChangeKind.IMAGE} if kind is TriggerKind.REGISTRY else {ChangeKind.PUSH, ChangeKind.TAG}
    if not changes or set(changes) - possible:
        names = " and ".join(sorted(each.value for each in possible))
        raise BadInputError(f"{kind.value} reports {names}", remedy=f"use --on {min(possible).value}")


def _descriptor(file: Path | DescriptorText, overrides: Mapping[str, str]) -> TriggerDescriptor:
    """The descriptor with the files that it extends as one text."""
    text, _, title, folder = descriptor_of(file, overrides=overrides)
    return TriggerDescriptor(text=text, name=Path(title).name, folder=stored(folder.absolute()))
