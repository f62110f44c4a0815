"""Bundle -> Launch: complete command lines, environments, files and mounts, once for all engines."""

import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from anubis.agent import options
from anubis.contracts.engine import Mounting
from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.objects import Objects
from anubis.model.descriptor import secret_name
from anubis.model.hardware import Strategy
from anubis.model.launch import Bundle, Handover, Launch, LaunchFile, Mount, Replica, Role
from anubis.model.run import Run
from anubis.pipeline.host.files import extracted
from anubis.pipeline.replicas import groups, variables
from anubis.pipeline.replicas.groups import as_json, ranks_of
from anubis.pipeline.replicas.ports import first_port
from anubis.pipeline.replicas.variables import Network
from anubis.pipeline.run_data import NO_DATA, RunData
from anubis.record import layout
from anubis.record.environment import content
from anubis.submission.bundle import MPI, WORKER
from anubis.submission.environment.summary import summary

#: Garbage collection is off until the agent enables it: this saves a tenth of the time of the imports.
_START = "import gc, sys; gc.disable(); sys.path.insert(0, {!r}); from anubis.agent.entry import main; main()"
_PACKAGES = str(Path(__file__).parents[2])
#: What only one replica may do on a machine that all of them share.
_OF_THE_MACHINE = {"governor": "", "drop_caches": False}
#: Strategies whose processes find each other at ports that Anubis chooses.
_RENDEZVOUS = {Strategy.TORCHRUN, Strategy.PARAMETER_SERVER, *MPI}


def start_agent(packages: str) -> tuple[str, ...]:
    """Options of Python that start the agent from this folder or zip file.

    Without site packages, an interpreter starts in a third of the time.
    """
    return ("-I", "-S", "-c", _START.format(packages))


#: Command that starts the agent on this machine.
HOST_AGENT = (sys.executable, *start_agent(_PACKAGES))


def handed_over(run: Run, environment: SubmittedEnvironment) -> Launch:
    """The launch of a run on an engine whose machines prepare it themselves."""
    named = run.descriptor.env.inherit
    variables = {name: value for name, value in environment.variables.items() if name in named}
    return Launch(replicas=(), handover=Handover(variables=variables, secrets=dict(environment.secrets)))


def launch_of(
    run: Run,
    bundle: Bundle,
    mounting: Mounting,
    objects: Objects,
    *,
    environment: SubmittedEnvironment,
    digest: Callable[[str], str],
    data: RunData = NO_DATA,
) -> Launch:
    """The launch of a run on an engine with this mounting. Extracts the script archive into ``mounting.scripts``.

    Processes without containers inherit the variables of the submitter, containers those in ``env.inherit``. ``digest`` computes what the record keeps of
    those whose values it does not keep.

    Raises StageError, NotFoundError and BadInputError for a script archive that is missing or refused, and
    NotReadyError if this machine has no free ports.
    """
    scripts = _scripts(bundle.script, mounting, objects)
    port = _first_port(run, bundle, mounting)
    builder = _Builder(run, bundle, mounting, scripts, environment, digest, data, port)
    return Launch(
        replicas=tuple(
            builder.replica(role, rank) for role in builder.started for rank in range(role.replicas)
        ),
        launched=builder.launched,
    )


def _scripts(key: str | None, mounting: Mounting, objects: Objects) -> Mount | None:
    """The mount of the extracted script archive in the replicas; None: there is no archive."""
    if key is None:
        return None
    source = extracted(key, mounting.scripts, objects) if mounting.scripts else None
    target = f"{mounting.inside}/scripts" if mounting.inside else source or ""
    return Mount(target=target, source=source, archive=None if source else key)


def _first_port(run: Run, bundle: Bundle, mounting: Mounting) -> int:
    """The first port of a run on machines that it shares with others; 0: they are only for this run."""
    if not mounting.watches:
        return 0
    strategy = run.descriptor.hardware.strategy
    count = sum(role.replicas for role in bundle.roles) if strategy is Strategy.PARAMETER_SERVER else 1
    is_shared = mounting.shares_ports and strategy in _RENDEZVOUS
    return first_port(run.id, run.attempt, count, is_shared=is_shared)


@dataclass(frozen=True, slots=True)
class _Builder:
    """Builds the replicas of one run."""

    run: Run
    bundle: Bundle
    mounting: Mounting
    scripts: Mount | None
    submitted: SubmittedEnvironment
    #: Digests of the values of variables.
    digest: Callable[[str], str]
    data: RunData
    #: First of the ports of the run on the machine that its replicas share.
    first_port: int

    @property
    def started(self) -> tuple[Role, ...]:
        """The roles that the engine starts."""
        return tuple(role for role in self.bundle.roles if role is not self.launched)

    @property
    def launched(self) -> Role | None:
        """The role whose ranks the launcher of MPI starts itself, with their agents."""
        launches = self.strategy in MPI and self.mounting.watches
        return next((role for role in self.bundle.roles if launches and role.name == WORKER), None)

    @property
    def strategy(self) -> Strategy:
        return self.run.descriptor.hardware.strategy

    def replica(self, role: Role, rank: int) -> Replica:
        record = self._record(role, rank)
        work = f"{record.target}/{layout.WORK}"
        folder = self._folder(role, work)
        files: dict[str, LaunchFile] = {}
        if patterns := {m.name: {"pattern": m.pattern, "units": m.units} for m in role.metrics if m.pattern}:
            files[f"{record.target}/{layout.PATTERNS}"] = as_json(patterns)
        if self.data.rows:
            files[f"{record.target}/{layout.DATA}"] = as_json({"version": 1, "sources": self.data.rows})
        inherited = self._variables(role)
        files[f"{record.target}/{layout.ENVIRONMENT}"] = self._summary(role, inherited)
        fixed = variables.variables(self.bundle, role, rank, strategy=self.strategy, network=self._network)
        if self.scripts:
            fixed["BAI_SCRIPTS_PATH"] = self.scripts.target
        folders = (work,) if folder == work else ()
        if variables.is_launcher(role, self.strategy):
            path = inherited.get("PATH", "") if self.mounting.inside is None else None
            fixed |= variables.mpi(record.target, path=path, network=self._network)
            files |= self._launcher_files(role, record.target)
            folders = (*folders, f"{record.target}/{layout.PROGRAMS}")
            if self.mounting.inside and self.mounting.one_machine:
                folders = (*folders, ranks_of(self._seen_record(role, rank)))
        given = self._options(role, record.target, folder)
        if self.mounting.one_machine and (role.name, rank) != (layout.BENCHMARK, 0):
            given |= _OF_THE_MACHINE  # the agent of the measured replica does it
        group = self._group(role, rank)
        if group:
            given["group"] = f"{record.target}/{layout.GROUP}"
            files[given["group"]] = as_json(group)
        options_file = f"{record.target}/{layout.OPTIONS}"
        files[options_file] = as_json(given)
        return Replica(
            role=role,
            rank=rank,
            argv=(*self.mounting.agent, "exec", "--options", options_file, "--", *role.command),
            environment={**inherited, **fixed},
            record=record.target,
            address=self.address(role.name, rank),
            folders=folders,
            files=files,
            mounts=self._mounts(record, role, has_others=group is not None),
        )

    def _variables(self, role: Role) -> dict[str, str]:
        """The inherited variables and those of the descriptor, with the values of secrets."""
        described = {
            name: self.submitted.secrets[secret] if (secret := secret_name(value)) else value
            for name, value in role.environment.items()
        }
        inherited = self.submitted.variables
        if self.mounting.inside is not None:  # the image has the others
            named = self.run.descriptor.env.inherit
            inherited = {name: value for name, value in inherited.items() if name in named}
        return {**inherited, **described}

    def _summary(self, role: Role, variables: dict[str, str]) -> LaunchFile:
        recorded = summary(
            variables, secrets=self._masked(role), described=role.environment, digest=self.digest
        )
        return LaunchFile(content=content(recorded))

    def _masked(self, role: Role) -> list[str]:
        """The variables whose values must not appear in the output."""
        secrets = {name for name, value in role.environment.items() if secret_name(value)}
        return sorted(secrets.union(self.run.descriptor.env.inherit))

    @property
    def _network(self) -> Network:
        return Network(
            address=self.address,
            first_port=self.first_port,
            one_machine=self.mounting.one_machine,
            hosts_assigned=self.mounting.cluster,
        )

    def _launcher_files(self, role: Role, record: str) -> dict[str, LaunchFile]:
        files: dict[str, LaunchFile] = {}
        mounting = self.mounting
        if not mounting.cluster:
            hosts = variables.hosts(self.bundle, network=self._network)
            files[f"{record}/{layout.HOSTS}"] = LaunchFile(content=hosts.encode())
        if not mounting.watches:
            return files
        given = {**self._options(role, "", ""), **_OF_THE_MACHINE}
        ranks = ranks_of(self._seen_record(role, layout.FIRST_RANK))
        return files | groups.rank_files(
            role, record, ranks, mounting.agent, given, one_machine=mounting.one_machine
        )

    def _group(self, role: Role, rank: int) -> dict[str, Any] | None:
        if not self.mounting.watches:
            return None
        roles = {each.name: each for each in self.started}
        one_machine = self.mounting.one_machine
        return groups.group(role, rank, roles, self._seen_record, self.strategy, one_machine=one_machine)

    def _seen_record(self, role: Role, rank: int) -> str:
        """The record of a replica as the others see it."""
        inside = self.mounting.inside
        return f"{inside}/{layout.RECORDS}/{role.name}/{rank}" if inside else self._record(role, rank).target

    def address(self, role: str, rank: int) -> str:
        run = self.run
        return self.mounting.address.format(run=run.id, attempt=run.attempt, role=role, rank=rank)

    def _record(self, role: Role, rank: int) -> Mount:
        run, records, inside = self.run, self.mounting.records, self.mounting.inside
        source = layout.role_folder(records, run.id, run.attempt, role.name, rank) if records else None
        return Mount(target=f"{inside}/record" if inside else source or "", source=source, read_only=False)

    def _mounts(self, record: Mount, role: Role, *, has_others: bool) -> tuple[Mount, ...]:
        data = self.data.mounts(role.name)
        if self.mounting.inside is None:
            return data
        shared = (record,) if record.source else ()
        if record.source and has_others:
            shared = (*shared, *self._records_of_others(record.source, role))
        return (*shared, *((self.scripts,) if self.scripts else ()), *data, *self.mounting.mounts)

    def _records_of_others(self, source: str, role: Role) -> Iterator[Mount]:
        """The records of the attempt in a container: read-only, except those of the ranks that a launcher starts."""
        target, attempt = f"{self.mounting.inside}/{layout.RECORDS}", source.rsplit("/", 2)[0]
        yield Mount(target=target, source=attempt)
        if variables.is_launcher(role, self.strategy):
            yield Mount(target=f"{target}/{WORKER}", source=f"{attempt}/{WORKER}", read_only=False)

    def _folder(self, role: Role, work: str) -> str:
        """The benchmark's working folder; empty: the working folder of its image."""
        if role.image and self.mounting.inside:
            return ""
        scripts = self.scripts.target if self.scripts else ""
        return (self.bundle.folder if self.mounting.inside is None else None) or scripts or work

    def _options(self, role: Role, record: str, folder: str) -> dict[str, Any]:
        """The agent's options: fields of ``[measure]`` with the same name, and the values of this replica."""
        measured = {
            name: value
            for name, value in asdict(role.measure).items()
            if name in options.NAMES and value is not None
        }
        if role.measure.warmups == "auto":
            measured |= {"warmups": role.measure.most_warmups, "until_steady": True}
        seed = uuid.UUID(self.run.id).int & 0x7FFFFFFF
        masked = " ".join(self._masked(role))
        given = {"record": record, "run_id": self.run.id, "seed": seed, "cwd": folder}
        return {**measured, **given, **({"masked": masked} if masked else {})}
