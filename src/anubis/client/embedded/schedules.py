"""Schedules of this installation."""

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import chain, islice, pairwise, takewhile
from pathlib import Path

from anubis.client.embedded.submission import stored_script
from anubis.client.protocol import schedules as protocol
from anubis.contracts.schedules import (
    CatchUp,
    Decision,
    DueState,
    DueTime,
    Schedule,
)
from anubis.describe import compose, due_times, paths
from anubis.describe.drafting import DescriptorText
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.descriptor import Overlap
from anubis.model.errors import BadInputError, ConflictError, NotFoundError
from anubis.model.ids import new_run_id
from anubis.model.labels import is_label
from anubis.model.problem import Problem
from anubis.model.run import Run
from anubis.reporting import name_suggestions
from anubis.submission.descriptor_files import content_of
from anubis.submission.due_times import following, upcoming, with_ready
from anubis.submission.environment import adding
from anubis.submission.person import person
from anubis.submission.scheduled_runs import check, descriptor_of, scheduled_runs
from anubis.wiring import Installation

#: A change is tried so often while schedulers change the schedule too.
_ATTEMPTS = 20
#: Due times of a pause that are counted; also those with which a jitter is compared.
_COUNTED, _COMPARED = 10_000, 50
#: What an update keeps, and what is not compared.
_KEPT = ("id", "created_s", "queued", "version", "paused_s", "pause_reason", "failures_since_s")
_STATE = {*_KEPT, "changed_s", "next_s", "ready_s", "owner"}


class Schedules(protocol.Schedules):
    """``Schedules`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._world = installation.world
        self._stored = installation.store.schedules

    def add(
        self,
        file: Path | DescriptorText,
        *,
        name: str | None = None,
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        catch_up: CatchUp = CatchUp.LAST,
        catch_up_limit: int = 10,
        jitter_s: float = 0.0,
        pause_after: int = 0,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> protocol.Added:
        content, title, folder = content_of(file)
        composed = compose(content, title, folder, ()).text
        now_s = self._world.clock.now_s()
        new = Schedule(
            id=new_run_id(),
            name="",
            scheduling="",
            timezone="",
            overlap=Overlap.SKIP,
            owner=person(self._installation.settings),
            created_s=now_s,
            changed_s=now_s,
            file=str(Path(title).absolute()),
            folder=str(folder),
            script=stored_script(self._installation, script),
            overrides=dict(overrides or {}),
            catch_up=catch_up,
            catch_up_limit=catch_up_limit,
            jitter_s=jitter_s,
            pause_after=pause_after,
            failures_since_s=now_s,
            project=self._installation.settings.project or DEFAULT_PROJECT,
        )
        info = descriptor_of(composed, new).info
        text = composed if isinstance(composed, str) else composed.decode()
        new = replace(
            new,
            name=name or info.name,
            scheduling=info.scheduling,
            timezone=info.timezone,
            overlap=info.overlap,
        )
        if not is_label(new.name):
            raise BadInputError(
                f"{new.name!r} cannot be the name of a schedule",
                remedy="use 1 to 63 letters, digits, -, _ and .",
            )
        check(self._world, new, text, default_engine=self._installation.settings.engine, warned=warned)
        new = self._from_now(new)
        _check_jitter(new)
        return self._put(new, text)

    def _put(self, new: Schedule, text: str) -> protocol.Added:
        for _ in range(_ATTEMPTS):
            found = self._stored.find()
            before = next((each for each in found if each.full_name == new.full_name), None)
            try:
                if before is None:
                    return protocol.Added(schedule=self._stored.add(new, text))
                return self._update(before, new, text)
            except ConflictError as error:
                conflict = error
        raise conflict

    def _update(self, before: Schedule, new: Schedule, text: str) -> protocol.Added:
        """Store what the new schedule says in place of what the stored one says. Its state remains."""
        now_s = self._world.clock.now_s()
        chosen = [spec.name for spec in fields(Schedule) if spec.name not in _STATE]
        changes = [name for name in chosen if getattr(before, name) != getattr(new, name)]
        changes += _changed_fields(self._stored.text(before.id), text)
        if not changes:
            return protocol.Added(schedule=before, before=before)
        after = replace(new, **{name: getattr(before, name) for name in _KEPT})
        passed: list[DueTime] = []
        if {"scheduling", "timezone"} & set(changes):
            passed += _passed(before, now_s, "the schedule was changed")
        else:  # due times that passed meanwhile are decided as before
            after = replace(after, next_s=before.next_s)
        decision = Decision(after=with_ready(after, now_s), due_times=tuple(passed))
        return protocol.Added(
            schedule=self._stored.change(decision, text=text), before=before, changes=tuple(changes)
        )

    def get(self, ref: str) -> Schedule:
        try:
            return self._stored.get(ref)
        except NotFoundError as error:
            found = self._stored.find()
            if not any(schedule.id.startswith(ref) for schedule in found):
                names = [schedule.name for schedule in found]
                error.remedy = name_suggestions.remedy(ref, names, otherwise=error.remedy)
            raise

    def find(self) -> Sequence[Schedule]:
        return self._stored.find()

    def text(self, ref: str) -> str:
        return self._stored.text(self.get(ref).id)

    def due_times(self, ref: str, *, limit: int = 20) -> Sequence[DueTime]:
        return self._stored.due_times(self.get(ref).id, limit=limit)

    def pause(self, ref: str, *, why: str = "") -> Schedule:
        actor = person(self._installation.settings)

        def paused(schedule: Schedule, now_s: float) -> Decision:
            if schedule.paused_s is not None:
                return Decision(after=schedule)
            reason = why or f"paused by {actor}"
            after = replace(schedule, paused_s=now_s, pause_reason=reason, queued=())
            dropped = [
                _note(schedule, due_s, DueState.SKIPPED, now_s, f"the schedule was paused: {reason}")
                for due_s in schedule.queued
            ]
            return Decision(after=with_ready(after, now_s), due_times=tuple(dropped))

        return self._change(ref, paused)

    def resume(self, ref: str) -> Schedule:
        def resumed(schedule: Schedule, now_s: float) -> Decision:
            if schedule.paused_s is None:
                return Decision(after=schedule)
            after = self._from_now(
                replace(schedule, paused_s=None, pause_reason="", failures_since_s=now_s, changed_s=now_s)
            )
            reason = f"the schedule was paused: {schedule.pause_reason}"
            return Decision(after=after, due_times=tuple(_passed(schedule, now_s, reason)))

        return self._change(ref, resumed)

    def trigger(self, ref: str) -> list[Run]:
        runs: list[Run] = []
        actor = person(self._installation.settings)

        def triggered(schedule: Schedule, now_s: float) -> Decision:
            engine = self._installation.settings.engine
            made = scheduled_runs(
                self._world, schedule, self._stored.text(schedule.id), now_s, default_engine=engine
            )
            runs[:] = [run for run, _ in made.runs]
            adding.hand_over(self._world, runs)
            note = _note(schedule, now_s, DueState.STARTED, now_s, f"triggered by {actor}")
            return Decision(
                after=schedule,
                due_times=(replace(note, run_id=runs[0].id),),
                runs=made.runs,
                events=made.events,
            )

        self._change(ref, triggered)
        return runs

    def remove(self, ref: str) -> Schedule:
        schedule = self.get(ref)
        self._stored.remove(schedule.id)
        return schedule

    def _change(self, ref: str, decide: Callable[[Schedule, float], Decision]) -> Schedule:
        """Write a decision on the stored schedule; again if a scheduler changed it meanwhile."""
        for _ in range(_ATTEMPTS):
            try:
                return self._stored.change(decide(self.get(ref), self._world.clock.now_s()))
            except ConflictError as error:
                conflict = error
        raise conflict

    def _from_now(self, schedule: Schedule) -> Schedule:
        """The schedule with the first due time after now as its next one."""
        now_s = self._world.clock.now_s()
        return with_ready(replace(schedule, next_s=following(schedule, now_s)), now_s)


def _note(schedule: Schedule, due_s: float, state: DueState, now_s: float, reason: str) -> DueTime:
    return DueTime(schedule_id=schedule.id, due_s=due_s, state=state, noted_s=now_s, reason=reason)


def _passed(schedule: Schedule, now_s: float, reason: str) -> Iterator[DueTime]:
    """The due times without a decision that passed, as skipped ones."""
    if schedule.next_s is None or schedule.next_s > now_s:
        return
    later = due_times(schedule.scheduling, schedule.timezone, schedule.next_s)
    passed = list(islice(takewhile(lambda due_s: due_s <= now_s, chain([schedule.next_s], later)), _COUNTED))
    note = _note(schedule, passed[0], DueState.SKIPPED, now_s, reason)
    yield replace(note, count=len(passed), last_s=passed[-1]) if len(passed) > 1 else note


def _changed_fields(before: str, after: str) -> list[str]:
    """The fields in which two descriptors differ: ``descriptor.measure.repeats``; ``text``: only the text differs."""
    if before == after:
        return []
    trees = [dict(paths.leaves(tomllib.loads(text))) for text in (before, after)]
    unlike = sorted(path for path in {*trees[0], *trees[1]} if trees[0].get(path) != trees[1].get(path))
    return [f"descriptor.{paths.shown(path)}" for path in unlike] or ["text"]


def _check_jitter(schedule: Schedule) -> None:
    """Raise BadInputError if a due time could start after the next one."""
    if not schedule.jitter_s or schedule.next_s is None:
        return
    times = upcoming(schedule, _COMPARED)
    shortest_s = min((after - before for before, after in pairwise(times)), default=math.inf)
    if schedule.jitter_s >= shortest_s:
        raise BadInputError(
            f"a jitter of {schedule.jitter_s:g} s is not shorter than the {shortest_s:g} s between two due times",
            remedy="use a shorter jitter",
        )
