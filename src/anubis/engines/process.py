"""Engine ``process``: the benchmark is a process tree of this machine, under an agent that outlives its starter.

An agent is one Python interpreter in a session of its own. A slot (a lock file held by the agent through an
inherited descriptor, so that the kernel frees it when the agent is gone, however it went) keeps measured runs
from disturbing one another.
"""

import contextlib
import errno
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anubis.agent import process_tree
from anubis.contracts.engine import Capabilities
from anubis.contracts.objects import Objects
from anubis.contracts.world import Surroundings
from anubis.model.cause import Cause
from anubis.model.errors import NoCapacityError, StageError
from anubis.model.hardware import Strategy
from anubis.model.run import Bundle, Observation, Placement, Run, Seen
from anubis.record import layout, liveness
from anubis.record.files import FolderFiles, read_json
from anubis.submission.script_archive import extract

#: What runs the agent: an interpreter without site packages, which starts in a third of the time.
_LAUNCH = "import sys; sys.path.insert(0, {!r}); from anubis.agent.entry import main; main()"
_PACKAGES = str(Path(__file__).parents[2])

#: Disk space that a run holds, so that the store can write how it ended.
BALLAST_BYTES = 2 << 20
#: An agent that did not show itself this long after its start never will.
APPEAR_S = 15.0
#: An agent that was told to end and has not, this long after, is killed with its session.
FORCE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """What an operator may set about this engine."""

    #: Folder for slots and extracted scripts.
    folder: Path
    #: Folder of all records, in which the agents write.
    records: Path
    #: Runs measured at the same time.
    slots: int = 1
    #: Nothing is placed with less free disk space than this.
    min_free_bytes: int = 256 * 1024**2


def build(surroundings: Surroundings) -> "ProcessEngine":
    """The engine as the entry point makes it."""
    settings = surroundings.settings
    return ProcessEngine(
        ProcessSettings(
            folder=settings.home / "process",
            records=settings.records,
            slots=settings.process_slots,
            min_free_bytes=settings.min_free_bytes,
        ),
        surroundings.objects,
    )


class ProcessEngine:
    """Places agents as processes of this machine."""

    name = "process"
    capabilities = Capabilities(strategies=frozenset({Strategy.SINGLE_NODE}))

    def __init__(self, settings: ProcessSettings, objects: Objects) -> None:
        self._settings = settings
        self._objects = objects
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def placed(self, run: Run) -> Placement | None:
        record = self._record(run)
        return self._placement(run, record) if record.exists() else None

    def place(self, run: Run, bundle: Bundle) -> Placement:
        record = self._record(run)
        placement = self._placement(run, record)
        started = self._started.get(placement.name)
        if liveness.state(str(record)) != liveness.ABSENT or (started and started.poll() is None):
            return placement
        self._check_disk()
        slot = self._take_slot()
        try:
            record.mkdir(parents=True, exist_ok=True)
            _take_ballast(record)
            self._start(placement, run, bundle, record, slot)
        except OSError as error:
            raise _unplaceable(error, record) from error
        finally:
            os.close(slot)
        return placement

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        return {placement.name: self._look(placement) for placement in placements if self._is_here(placement)}

    def cancel(self, placement: Placement) -> None:
        """The wish is kept in the record: an agent that has not shown itself yet is told when it is seen."""
        record = Path(placement.details["record"])
        with contextlib.suppress(
            OSError
        ):  # there is nothing, or the disk is full: then being told once must do
            (record / layout.CANCEL).touch(exist_ok=False)
        liveness.cancel(str(record))

    def logs(self, placement: Placement) -> Iterator[bytes]:
        with contextlib.suppress(FileNotFoundError):
            yield (Path(placement.details["record"]) / layout.AGENT_LOG).read_bytes()

    def _placement(self, run: Run, record: Path) -> Placement:
        name = f"{run.id}.{run.attempt}"
        return Placement(engine=self.name, name=name, details={"record": str(record)} | self._here)

    def _record(self, run: Run) -> Path:
        return Path(layout.role_folder(str(self._settings.records), run.id, run.attempt))

    @property
    def _here(self) -> dict[str, str]:
        return {"host": socket.gethostname(), "folder": str(self._settings.folder.resolve())}

    def _is_here(self, placement: Placement) -> bool:
        """Whether this machine and home folder hold it: a database may serve several of them."""
        return self._here.items() <= placement.details.items()

    def _check_disk(self) -> None:
        self._settings.folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self._settings.folder).free
        if free < self._settings.min_free_bytes:
            raise StageError(
                f"only {free >> 20} MiB free under {self._settings.folder}, "
                f"{self._settings.min_free_bytes >> 20} MiB are needed to place a run",
                cause=Cause.DISK_FULL,
                remedy=Cause.DISK_FULL.remedy,
            )

    def _take_slot(self) -> int:
        for number in range(self._settings.slots):
            slot = os.open(
                self._settings.folder / f"slot-{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
            try:
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(slot)
            else:
                return slot
        raise NoCapacityError(
            f"all {self._settings.slots} slots of this machine are measuring",
            again_after_s=1.0,
            remedy="wait, or raise ANUBIS_PROCESS_SLOTS if runs may disturb one another",
        )

    def _start(self, placement: Placement, run: Run, bundle: Bundle, record: Path, slot: int) -> None:
        role = bundle.roles[0]
        environment = {**os.environ, **role.environment}
        if bundle.script:
            environment["BAI_SCRIPTS_PATH"] = str(self._scripts(bundle.script))
        options = {
            "--record": str(record),
            "--run-id": run.id,
            "--seed": str(uuid.UUID(run.id).int & 0x7FFFFFFF),
            "--repeats": str(bundle.repeats),
            "--warmups": str(bundle.warmups),
            "--timeout-s": repr(bundle.timeout_s),
            "--cwd": bundle.folder or environment.get("BAI_SCRIPTS_PATH") or str(self._work(record)),
        }
        if bundle.patterns:
            patterns = {
                name: {"pattern": pattern, "units": units}
                for name, (pattern, units) in bundle.patterns.items()
            }
            (record / layout.PATTERNS).write_text(json.dumps(patterns))
            options["--patterns"] = str(record / layout.PATTERNS)
        flat = [word for option in options.items() for word in option]
        with (record / layout.AGENT_LOG).open("ab") as log:
            self._started[placement.name] = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-c",
                    _LAUNCH.format(_PACKAGES),
                    "exec",
                    *flat,
                    "--",
                    *role.command,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
                pass_fds=(slot,),
            )

    def _work(self, record: Path) -> Path:
        work = record / layout.WORK
        work.mkdir(exist_ok=True)
        return work

    def _scripts(self, key: str) -> Path:
        """The archive's content, extracted once; complete or absent."""
        scripts = self._settings.folder / "scripts" / key.removesuffix(".tar")
        if not scripts.exists():
            scripts.parent.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(dir=scripts.parent))
            with self._objects.open(key) as stream:
                extract(stream, fresh)
            try:
                fresh.rename(scripts)
            except OSError:  # another reconciler was first
                shutil.rmtree(fresh)
        return scripts

    def _look(self, placement: Placement) -> Observation:
        record = Path(placement.details["record"])
        started = self._started.get(placement.name)
        if started is not None and started.poll() is not None:
            del self._started[placement.name]
        if ended := _ended(record):
            return ended
        state = liveness.state(str(record))
        if state == liveness.ALIVE:
            _insist(record)
            return Observation(seen=Seen.RUNNING)
        if state == liveness.DEAD:  # it may have ended between the two looks
            return _ended(record) or _lost(record)
        if started is not None and placement.name in self._started:
            return Observation(seen=Seen.WAITING)
        if started is None and record.exists() and time.time() - record.stat().st_mtime < APPEAR_S:
            return Observation(seen=Seen.WAITING)
        return Observation(seen=Seen.LOST, reason=f"the agent never started: {self._last_words(placement)}")

    def _last_words(self, placement: Placement) -> str:
        text = b"".join(self.logs(placement)).decode(errors="replace").strip()
        return text.splitlines()[-1] if text else "it left no message"


def _take_ballast(record: Path) -> None:
    """Space that is free again when the run has ended: however full it left the disk, the store can say so."""
    if hasattr(os, "posix_fallocate"):  # macOS has none
        with (record / layout.BALLAST).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, BALLAST_BYTES)


def _drop_ballast(record: Path) -> None:
    (record / layout.BALLAST).unlink(missing_ok=True)


def _ended(record: Path) -> Observation | None:
    last = read_json(FolderFiles(str(record)), layout.EXIT)
    if not last:
        return None
    _drop_ballast(record)
    cause = last.get("cause")
    return Observation(
        seen=Seen.ENDED,
        exit_code=last.get("code"),
        reason=last.get("reason", ""),
        cause=Cause(cause) if cause else None,
    )


def _lost(record: Path) -> Observation:
    left = process_tree.end_orphans(str(record))
    _drop_ballast(record)
    ended = f"; processes it left behind were killed: {left}" if left else ""
    return Observation(seen=Seen.LOST, reason=f"the agent vanished without a last word{ended}")


def _unplaceable(error: OSError, record: Path) -> StageError:
    """The system refused to start the agent: a full disk, or a command line longer than it takes."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StageError(
            f"the disk that holds {record} is full", cause=Cause.DISK_FULL, remedy=Cause.DISK_FULL.remedy
        )
    if error.errno == errno.E2BIG:
        return StageError(
            "command and environment are longer than the system accepts",
            cause=Cause.USER_ERROR,
            remedy="put the arguments into a file",
        )
    return StageError(
        f"the agent could not be started: {error}",
        cause=Cause.INTERNAL,
        remedy="look at the permissions of the home folder, and at limits on processes and open files",
    )


def _insist(record: Path) -> None:
    """An agent that is to end is told again, and killed when it has not obeyed for long."""
    try:
        asked_s = (record / layout.CANCEL).stat().st_mtime
    except FileNotFoundError:
        return
    if time.time() - asked_s > FORCE_S:
        liveness.kill_session(str(record))
    else:
        liveness.cancel(str(record))
