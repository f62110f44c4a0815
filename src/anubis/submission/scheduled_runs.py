"""The runs that a schedule submits at a due time."""

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anubis import describe
from anubis.contracts.schedules import Schedule
from anubis.contracts.world import World
from anubis.describe.drafting import DescriptorText
from anubis.model.descriptor import SINGLE_RUN, Descriptor
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem
from anubis.model.run import Event, Run
from anubis.submission.descriptor_files import Warned, invalid, read
from anubis.submission.submit import Submission, runs_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledRuns:
    """Runs of one due time with the texts of their descriptors, and their first events."""

    runs: tuple[tuple[Run, str], ...]
    events: tuple[Event, ...]


def descriptor_of(text: str | bytes, schedule: Schedule) -> Descriptor:
    """The descriptor of a schedule with its overrides. Raises BadInputError."""
    reading = describe.read(text, filename=schedule.file, overrides=schedule.overrides)
    if reading.descriptor is None:
        raise invalid(text, schedule.file, schedule.overrides, reading.problems)
    return reading.descriptor


def scheduled_runs(
    world: World,
    schedule: Schedule,
    text: str,
    due_s: float,
    *,
    default_engine: str,
    warned: Warned | None = None,
) -> ScheduledRuns:
    """The runs of a due time. Nothing is stored. Raises BadInputError if they are refused here.

    Their ids derive from the schedule and the due time, so that two processes cannot submit a due time under different ids.
    """
    if schedule.folder is not None and not Path(schedule.folder).is_dir():
        raise BadInputError(
            f"there is no folder {schedule.folder}",
            remedy="restore it, or add the descriptor again from another folder with anubis schedule add",
        )
    file = DescriptorText(text=text, folder=Path(schedule.folder or Path.cwd()), name=schedule.file)
    submissions = [
        _once(submission)
        for submission in read(file, overrides=schedule.overrides, script=schedule.script, warned=warned)
    ]
    runs, events = runs_of(
        submissions,
        engines=world.engines,
        notifiers=world.notifiers,
        sources=world.sources,
        prices=world.prices,
        default_engine=default_engine,
        owner=schedule.owner,
        clock=world.clock,
        permission=world.projects.permission(schedule.project),
    )
    ids = {run.id: _run_id(schedule, due_s, number) for number, (run, _) in enumerate(runs)}
    data = {"schedule": schedule.id, "due_s": due_s}
    return ScheduledRuns(
        runs=tuple((replace(run, id=ids[run.id], parent_id=schedule.id), text) for run, text in runs),
        events=tuple(
            replace(event, run_id=ids[event.run_id], data={**event.data, **data}) for event in events
        ),
    )


def check(world: World, schedule: Schedule, text: str, *, default_engine: str, warned: Warned | None) -> None:
    """Raise BadInputError with everything for which the runs of a schedule would be refused here."""
    info = descriptor_of(text, schedule).info
    if info.scheduling == SINGLE_RUN:
        problem = Problem(
            path="info.scheduling",
            message="the descriptor has no schedule",
            remedy='add for example scheduling = "0 3 * * *" to [info], or --set "info.scheduling=0 3 * * *"',
        )
        raise BadInputError(f"{schedule.file} cannot be scheduled", problems=[problem], file=schedule.file)
    scheduled_runs(world, schedule, text, schedule.changed_s, default_engine=default_engine, warned=warned)


def _once(submission: Submission) -> Submission:
    """The submission of a single run, as the old system did: its runs form a series with those of ``anubis run``."""
    info = replace(submission.descriptor.info, scheduling=SINGLE_RUN)
    return replace(submission, descriptor=replace(submission.descriptor, info=info))


def _run_id(schedule: Schedule, due_s: float, number: int) -> str:
    """A UUID of version 7 with the time of the due time."""
    digest = hashlib.sha256(f"{schedule.id}/{due_s!r}/{number}".encode()).digest()
    random = int.from_bytes(digest[:10], "big")
    value = (
        ((int(due_s * 1000) + number) << 80)
        | (0x7 << 76)
        | ((random >> 68 & 0xFFF) << 64)
        | (0b10 << 62)
        | random & (1 << 62) - 1
    )
    return str(uuid.UUID(int=value))


def described(problems: Sequence[Problem], message: str) -> str:
    """The error of a due time in one line."""
    return "; ".join([message, *(problem.message for problem in problems[:3])])
