"""The machine of a joined worker: its engines, its cache of datasets, and the environments of its attempts."""

import hashlib
import io
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from anubis.agent.observe import facts
from anubis.agent.observe.kernel import MemoryGroup
from anubis.contracts.engine import Engine
from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.service.projects import Permission
from anubis.contracts.world import World
from anubis.model.access.permits import changed
from anubis.model.access.roles import Project
from anubis.model.cause import Cause
from anubis.model.descriptor import Descriptor
from anubis.model.errors import BadInputError, NotFoundError, PlugInError, StageError
from anubis.model.run import Event
from anubis.pipeline.joined.matching import CONTAINER, PROCESS
from anubis.submission.environment.handover import inherited
from anubis.wiring import Installation

#: Engines with which a joined worker measures, and the setting of its slots.
ENGINES = (PROCESS, CONTAINER)


@dataclass(frozen=True)
class HandedOver:
    """``Environments`` (see the contract) with what the service sent, in memory only."""

    #: For digests of values, with the key of this home folder.
    home: Any
    #: Run id -> environment.
    known: dict[str, SubmittedEnvironment] = field(default_factory=dict)

    def current(self, descriptor: Descriptor, project: str) -> SubmittedEnvironment:
        del descriptor, project
        raise NotFoundError("a joined worker gives runs only what the service sends")

    def hand_over(self, run_ids: Sequence[str], environment: SubmittedEnvironment) -> None:
        self.known.update(dict.fromkeys(run_ids, environment))

    def handed_over(self, run_id: str) -> SubmittedEnvironment | None:
        return self.known.get(run_id)

    def remove(self, run_ids: Collection[str]) -> None:
        for run_id in run_ids:
            self.known.pop(run_id, None)

    def digest(self, text: str) -> str:
        digest: str = self.home.digest(text)
        return digest


@dataclass(frozen=True)
class FetchedEvents:
    """``Events`` (see the contract) in memory: what stage fetch has found, for stage place."""

    known: dict[str, list[Event]] = field(default_factory=dict)

    def append(self, events: Sequence[Event]) -> None:
        for event in events:
            self.known.setdefault(event.run_id, []).append(event)

    def read(self, run_id: str | None = None, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        del after_seq
        return self.known.get(run_id or "", [])[:limit]

    def read_all(self, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        del after_seq
        return [event for events in self.known.values() for event in events][:limit]

    def last(self) -> int:
        return 0


@dataclass(frozen=True)
class SentPermissions:
    """``Projects`` (see the contract) with what the service sent."""

    known: dict[str, Permission] = field(default_factory=dict)

    def permission(self, name: str) -> Permission:
        return self.known[name]


class Machine:
    """What attempts of this worker use."""

    def __init__(self, installation: Installation, names: Sequence[str]) -> None:
        """``names``: the engines to offer. Raises BadInputError if none of them can be used here."""
        self.settings = installation.settings
        self.environments = HandedOver(installation.world.environments)
        self.events = FetchedEvents()
        self.projects = SentPermissions()
        self.world: World = replace(
            installation.world, environments=self.environments, events=self.events, projects=self.projects
        )
        self.engines: Mapping[str, Engine] = self._usable(names)
        if not self.engines:
            raise BadInputError(
                f"none of the engines {', '.join(names)} can be used here",
                remedy="see anubis doctor; the engine container needs Podman or Docker",
            )

    @property
    def slots(self) -> int:
        """Runs that are measured at the same time, by all engines."""
        return int(os.environ.get("ANUBIS_PROCESS_SLOTS", "").strip() or 1)

    @staticmethod
    def facts() -> dict[str, Any]:
        """Facts about the machine, as in ``facts.json``."""
        return facts.gather(MemoryGroup(), "/")

    def record(self, run_id: str, attempt: int) -> Path:
        """The folder of all records of an attempt."""
        return self.settings.records / run_id / f"a{attempt}"

    def give(
        self, run_id: str, descriptor: Descriptor, variables: Mapping[str, str], secrets: Mapping[str, str]
    ) -> None:
        """Keep the environment of a run: that of this worker, with what the service sent."""
        own = inherited(os.environ, self.settings.inherit, ())
        named = {name: value for name, value in variables.items() if name in descriptor.env.inherit}
        given = SubmittedEnvironment(variables={**own, **named}, secrets=dict(secrets))
        self.environments.hand_over([run_id], given)

    def permit(self, project: str, permitted: Sequence[str], secrets: Iterable[str]) -> None:
        """Keep what the service sent about a project. The service has compared the name of its engine and the secrets."""
        after = changed(permitted, permit=("engine:*", "secrets"))
        given = Project(name=project, created_s=0.0, permits=after)
        self.projects.known[project] = Permission(project=given, own_secrets=frozenset(secrets))

    def has_script(self, key: str) -> bool:
        """Whether the archive is stored here."""
        try:
            self.world.objects.open(key).close()
        except NotFoundError:
            return False
        return True

    def store_script(self, key: str, content: bytes) -> None:
        """Store an archive. Raises StageError if it is not that of the key."""
        if f"{hashlib.sha256(content).hexdigest()}.tar" != key.rpartition("/")[2]:
            raise StageError(
                f"the script archive {key} arrived damaged", cause=Cause.DATA, remedy="try again"
            )
        self.world.objects.put(key, io.BytesIO(content))

    def forget(self, run_id: str) -> None:
        """Drop what is kept of a run in memory."""
        self.environments.remove([run_id])
        self.events.known.pop(run_id, None)

    def _usable(self, names: Sequence[str]) -> dict[str, Engine]:
        found = {}
        for name in names:
            try:
                engine = self.world.engine(name)
            except PlugInError:
                continue
            if not engine.capabilities.missing:
                found[name] = engine
        return found
