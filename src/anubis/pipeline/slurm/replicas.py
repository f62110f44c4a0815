"""The replicas of a run beside the measured one, on other nodes: only what their agents have written is known of them."""

import os
from collections.abc import Sequence
from pathlib import Path

from anubis.model.cause import Cause
from anubis.pipeline.host import peers
from anubis.pipeline.host.agent_record import agent_log
from anubis.pipeline.record_result import RecordResult, damaged, result_of
from anubis.record import layout, liveness
from anubis.record.files import FolderFiles
from anubis.record.reading import Record


def beside(measured: Path) -> list[Path]:
    """The records of the other replicas."""
    return peers.records(measured) if measured.exists() else []


def result(record: Path) -> RecordResult | None:
    """The result in the record of an agent on any machine; None: there is none yet."""
    files = FolderFiles(str(record))
    if problem := files.problem(layout.EXIT):
        return damaged(problem)
    return result_of(Record(files))


def is_claimed(record: Path) -> bool:
    """Whether an agent has started, or none ever can."""
    return os.path.lexists(record / layout.ALIVE)


def open_among(records: Sequence[Path]) -> list[Path]:
    """The records of agents that have started and have no result."""
    return [
        each
        for each in records
        if is_claimed(each) and result(each) is None and not liveness.is_revoked(str(each))
    ]


def is_stalled(measured: Path, others: Sequence[Path]) -> bool:
    """Whether an agent is stopped: the others have ended long ago, and it has not ended with them."""
    if result(measured) is None:
        return any(peers.has_failed_long_ago(each) for each in others)
    state = FolderFiles(str(measured)).state(layout.EXIT)
    return state is not None and peers.is_older(state, peers.FORCE_S) and bool(open_among(others))


def failure(others: Sequence[Path]) -> tuple[Cause, str] | None:
    """The failure among these replicas, of which none runs any more, that explains the end of the measured one."""
    failures = []
    for record in others:
        found = result(record)
        if found is None:
            failures.append((float("inf"), _vanished(record)))
        elif found.cause not in {None, Cause.CANCELLED}:
            ended_s = Record(FolderFiles(str(record))).exit.get("ended_s")
            order = float(ended_s) if isinstance(ended_s, int | float) else float("inf")
            failures.append((order, (found.cause or Cause.INTERNAL, f"{name_of(record)}: {found.reason}")))
    return min(failures)[1] if failures else None


def name_of(record: Path) -> str:
    """Role and rank of the replica with this record."""
    return f"{record.parent.name} {record.name}"


def _vanished(record: Path) -> tuple[Cause, str]:
    if is_claimed(record):
        return Cause.LOST, f"The agent of {name_of(record)} vanished without writing its result."
    lines = agent_log(str(record)).decode(errors="replace").strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    return Cause.LOST, f"The agent of {name_of(record)} did not start{said}"
