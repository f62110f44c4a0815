"""Engine ``slurm``: runs the benchmark on the nodes of a Slurm cluster.

Home folder and Python environment are on a file system that the nodes share. Runs that need the same are submitted
together as one array. The agent claims the record of its attempt, so that an element that Slurm starts again executes nothing.
"""

import logging
import math
import os
import shlex
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from pathlib import Path

from anubis.contracts.engine import Capabilities, Mounting
from anubis.contracts.world import Surroundings
from anubis.model.errors import disk_error
from anubis.model.hardware import Strategy
from anubis.model.launch import Launch
from anubis.model.run import Observation, Placement, Run, Seen
from anubis.pipeline.host.agent_record import agent_log
from anubis.pipeline.host.files import check_disk, not_startable, prepare
from anubis.pipeline.host.placements import check_claim
from anubis.pipeline.launch import start_agent
from anubis.pipeline.slurm import agent_zip, observing, replicas, request, script
from anubis.pipeline.slurm.commands import Commands
from anubis.pipeline.slurm.queue import Known, Queue
from anubis.pipeline.slurm.spool import Entry, Limit, Spool
from anubis.record import access, layout, liveness
from anubis.settings import load, setting

log = logging.getLogger(__name__)

_LOST = Observation(seen=Seen.LOST, reason="the files of the attempt were removed before it had ended")
#: Ends of attempts that are kept, so that they can be observed again.
_MOST_ENDS = 10_000


def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise ValueError("words as a shell reads them") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSettings:
    """Settings of this engine."""

    #: Folder for scripts that wait or run.
    folder: Path
    #: Folder of all records.
    records: Path
    #: Runs are placed only with at least so much free disk space; bytes.
    min_free_bytes: int
    #: Variables of this process.
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)
    #: Partition of all runs; name; that of the cluster
    partition: str = setting("ANUBIS_SLURM_PARTITION", default="")
    #: Account that is charged; name; that of the user
    account: str = setting("ANUBIS_SLURM_ACCOUNT", default="")
    #: Quality of service; name; that of the user
    qos: str = setting("ANUBIS_SLURM_QOS", default="")
    #: Features that nodes must have, in addition to `hardware.instance_type`; expression; none
    constraint: str = setting("ANUBIS_SLURM_CONSTRAINT", default="")
    #: Type of GPUs, as `gres` names it; name; any
    gpu_type: str = setting("ANUBIS_SLURM_GPU_TYPE", default="")
    #: Longest time limit that is requested; 0: that of the partition; seconds
    time_limit_s: float = setting("ANUBIS_SLURM_TIME_LIMIT_S", default=0.0)
    #: Further options of `sbatch`, for example `--exclusive --reservation=bench`; words; none
    options: tuple[str, ...] = setting("ANUBIS_SLURM_OPTIONS", default=(), read=_words)
    #: Environment modules to load before the benchmark; names, separated by blanks; none
    modules: tuple[str, ...] = setting("ANUBIS_SLURM_MODULES", default=(), read=_words)
    #: Shell commands to execute before the benchmark, after the modules are loaded; commands; none
    setup: str = setting("ANUBIS_SLURM_SETUP", default="")
    #: Python on the nodes, 3.8 or later; path; the Python that runs Anubis
    python: str = setting("ANUBIS_SLURM_PYTHON", default="")
    #: Most runs in one array; runs
    array: int = setting("ANUBIS_SLURM_ARRAY", default=1000, least=1)
    #: Runs that are placed within this time of one another are submitted together; seconds
    gather_s: float = setting("ANUBIS_SLURM_GATHER_S", default=0.5)


def build(surroundings: Surroundings) -> "SlurmEngine":
    """Build the engine; its entry point names this function."""
    core, environ = surroundings.settings, surroundings.environ
    folders = {"folder": core.home / "slurm", "records": core.records, "min_free_bytes": core.min_free_bytes}
    return SlurmEngine(load(SlurmSettings, environ, **folders, variables=environ))


class SlurmEngine:
    """Places agents on the nodes of a cluster."""

    name = "slurm"

    def __init__(self, settings: SlurmSettings) -> None:
        self._settings = settings
        self._commands = Commands(settings.variables)
        self._spool = Spool(settings.folder)
        self._queue = Queue(self._commands, self._spool, gather_s=settings.gather_s, most=settings.array)
        self._agent = agent_zip.AgentZip(settings.folder)
        #: Observations of attempts that have ended, by placement.
        self._ends: dict[str, Observation] = {}
        self._reaping = threading.Lock()

    @cached_property
    def capabilities(self) -> Capabilities:
        settings, program = self._settings, self._commands.program
        return Capabilities(
            strategies=frozenset(Strategy),
            mounting=Mounting(
                agent=(settings.python or sys.executable, *start_agent(str(self._agent.path))),
                records=str(settings.records),
                scripts=str(settings.folder / "scripts"),
                address=script.ADDRESS,
                cluster=True,
            ),
            data=True,
            queue=True,
            instance_types=True,
            gpus=math.inf,
            cpus=math.inf,
            memory_gb=math.inf,
            uses=program,
            missing="" if program else "install the commands of Slurm: sbatch, squeue, sacct and scancel",
        )

    def placed(self, run: Run) -> Placement | None:
        return self._placement(run) if self._entry(run).exists or self._record(run).exists() else None

    def place(self, run: Run, launch: Launch) -> Placement:
        """Store what the nodes need. The next observation submits it, together with that of other runs."""
        placement, entry, settings = self._placement(run), self._entry(run), self._settings
        check_claim(str(self._record(run)))
        if entry.exists or replicas.is_claimed(self._record(run)):
            return placement
        check_disk(settings.folder, settings.min_free_bytes)
        self._reap_once()
        options = request.options_of(launch, self._defaults())
        scripts = script.scripts(launch, str(entry.folder), modules=settings.modules, setup=settings.setup)
        try:
            self._agent.build()
            for replica in launch.in_order:
                prepare(replica)
            check_claim(str(self._record(run)))  # it may have been revoked while this process was stopped
            self._spool.create(entry, scripts, options, Limit.of(run, launch))
        except OSError as error:
            raise not_startable(error, settings.records) from error
        self._queue.add(entry)
        return placement

    def revoke(self, run: Run) -> bool:
        record = str(self._record(run))
        try:
            revoked = liveness.revoke(record) or liveness.is_revoked(record)
        except OSError as error:
            raise disk_error(f"{record} cannot be written", error) from error
        if revoked:
            self._spool.remove(self._entry(run))
        return revoked

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        """See the contract. Leaves out also a placement that cannot be observed now."""
        ours = [each for each in placements if each.details.get("folder") == self._folder]
        seen = self._looks(ours)
        open_ = [each for each in ours if each.name not in self._ends]
        if open_ and self._queue.turn([self._spool.entry(each.name) for each in open_]):
            seen |= self._looks(open_)
        return seen

    def cancel(self, placement: Placement) -> None:
        record, entry = Path(placement.details["record"]), self._spool.entry(placement.name)
        is_here = placement.details.get("folder") == self._folder and entry.exists
        if not is_here or placement.name in self._ends:
            return
        _request_end(record)
        for each in (record, *replicas.beside(record)):
            liveness.revoke(str(each))
        self._queue.cancel(self._queue.known(entry).id)

    def logs(self, placement: Placement) -> Iterator[bytes]:
        yield agent_log(placement.details["record"])

    def _looks(self, placements: Sequence[Placement]) -> dict[str, Observation]:
        seen = {}
        for placement in placements:
            try:
                seen[placement.name] = self._ends.get(placement.name) or self._look(placement)
            except Exception:  # affects no other placement
                log.exception("cannot observe placement %s", placement.name)
        return seen

    def _look(self, placement: Placement) -> Observation:
        record, entry = Path(placement.details["record"]), self._spool.entry(placement.name)
        known = self._queue.known(entry) if entry.exists else None
        found = replicas.result(record)
        if found:
            seen = observing.recorded(record, found, known or Known(), entry.failed if known else None)
        elif known:
            seen = observing.unfinished(record, entry, known, self._spool.output_of(entry))
        else:
            seen = _LOST
        if known:
            self._settle(record, entry, known, seen)
        return seen

    def _settle(self, record: Path, entry: Entry, known: Known, seen: Observation) -> None:
        """End what is left of a run that has ended, or cannot end by itself."""
        others = replicas.beside(record)
        if seen.seen not in {Seen.ENDED, Seen.LOST}:
            if replicas.is_stalled(record, others):
                self._queue.cancel(known.id)
            return
        if replicas.open_among(others):  # on a node that Slurm does not reach, but that reads this
            _request_end(record)
        self._end(entry.name, entry, known, seen)

    def _end(self, name: str, entry: Entry, known: Known, seen: Observation) -> None:
        """Keep the observation, and remove the scripts of the attempt: they contain secrets."""
        while len(self._ends) >= _MOST_ENDS:
            del self._ends[next(iter(self._ends))]
        self._ends[name] = seen
        self._queue.forget(entry)
        if known.element and known.element.is_requeued:
            self._queue.cancel(known.id)
        self._spool.remove(entry)

    def _entry(self, run: Run) -> Entry:
        return self._spool.entry(f"{run.id}.{run.attempt}")

    def _record(self, run: Run) -> Path:
        """The record of the measured replica."""
        return Path(layout.role_folder(str(self._settings.records), run.id, run.attempt))

    def _placement(self, run: Run) -> Placement:
        details = {"record": str(self._record(run)), "folder": self._folder}
        return Placement(engine=self.name, name=self._entry(run).name, details=details)

    @cached_property
    def _folder(self) -> str:
        return str(self._settings.folder.resolve())

    def _defaults(self) -> request.Defaults:
        return request.Defaults(
            **{each.name: getattr(self._settings, each.name) for each in fields(request.Defaults)}
        )

    def _reap_once(self) -> None:
        """At the first placement of this process, remove what killed processes left behind."""
        if self._reaping.acquire(blocking=False):
            reap = partial(self._spool.reap, self._settings.records)
            threading.Thread(target=reap, daemon=True, name="reap scripts").start()


def _request_end(record: Path) -> None:
    """Store that the run must end; an agent that starts later finds it too."""
    os.close(access.create(str(record / layout.CANCEL), os.O_WRONLY))
