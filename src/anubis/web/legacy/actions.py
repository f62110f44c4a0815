"""The actions of old clients: runs and schedules, by the client that submitted them."""

import contextlib
import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter

from anubis.api.json_values import Json
from anubis.client import Client
from anubis.contracts.runs import RunQuery, RunRow
from anubis.contracts.schedules import Schedule
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.run import CANCEL_EVENT, Event, Run
from anubis.record.layout import STDERR, STDOUT
from anubis.record.log_stream import LogStream
from anubis.web.legacy import statuses
from anubis.web.legacy.statuses import Action, Cursor

#: Most statuses or actions of one answer.
MOST = 100
_ALL = 100_000
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Actions:
    """The runs and schedules of one client."""

    def __init__(self, client: Client, client_id: str, owner: str, address: str) -> None:
        """``owner``: who submitted them. ``address``: where the service answers, for links."""
        self._client = client
        self._client_id = client_id
        self._owner = owner
        self._address = address

    def listed(self, cursor: Cursor) -> list[Json]:
        """Id and time of the runs and schedules of the client, oldest first."""
        start = (cursor.ms, cursor.message_id)
        schedules = sorted(
            (int(each.created_s * 1000), each.id)
            for each in self._client.schedules.find()
            if each.owner == self._owner
        )
        found = heapq.merge(
            ((int(row.created_s * 1000), row.id) for row in self._rows(cursor)),
            [each for each in schedules if each > start],
            key=itemgetter(0),
        )
        return [{"action_id": action_id, "timestamp": ms} for ms, action_id in islice(found, MOST)]

    def _rows(self, cursor: Cursor) -> Sequence[RunRow]:
        """The runs of the client after the cursor, oldest first."""
        query = RunQuery(owner=self._owner, newest_first=False, limit=MOST)
        if cursor.message_id:
            with contextlib.suppress(NotFoundError):  # a schedule, or a run that was purged
                return self._client.runs.find(replace(query, after=cursor.message_id))
        return self._client.runs.find(replace(query, since_s=cursor.ms / 1000))

    def statuses(self, action_id: str, cursor: Cursor) -> list[Json]:
        """The statuses of a run, a schedule or a command after a cursor. Raises NotFoundError."""
        found = self._found(action_id)
        if isinstance(found, Run):
            return self._of_run(found, cursor)
        if isinstance(found, Schedule):
            made = self._of_schedule(found)
            return statuses.after(found.id, made, cursor)[:MOST]
        target = self._found(statuses.command_id(action_id.lower())) if _UUID.fullmatch(action_id) else None
        if target is None or not (events := list(self._cancellations(target))):
            raise _unknown(action_id)
        made = statuses.of_command(self._action(target), action_id, events)
        return statuses.after(action_id, made, cursor)[:MOST]

    def cancel(self, action_id: str, *, cascade: bool) -> str:
        """Cancel a run, or pause a schedule; the id of the command. Raises BadInputError if it has ended."""
        found = self._found(action_id)
        if found is None:
            raise _unknown(action_id)
        command = statuses.command_id(found.id)
        if isinstance(found, Schedule):
            self._client.schedules.pause(found.id, why="cancelled by an old client")
            if cascade:
                unfinished = [row.id for row in self._caused(found.id) if not row.status.final]
                self._client.runs.cancel(unfinished, cascade=True) if unfinished else None
            return command
        asked = self._client.runs.cancel([found.id], cascade=cascade)
        if not asked and not any(self._cancellations(found)):
            raise BadInputError(
                f"{found.id} has ended and cannot be cancelled", remedy="anubis status shows its result"
            )
        return command

    def log(self, action_id: str) -> Iterator[Json]:
        """Every line of output of every role and rank, in order of arrival within each."""
        run = self._found(action_id)
        if not isinstance(run, Run):
            raise _unknown(action_id)
        return self._lines(run)

    def _lines(self, run: Run) -> Iterator[Json]:
        records = self._client.records
        number = 0
        for role, rank in records.replicas(run):
            for time_ns, stream, line in LogStream(records.files(run, role, rank), (STDOUT, STDERR)).lines(
                last=True
            ):
                number += 1
                source = {
                    "log": line.decode("utf-8", "replace") + "\n",
                    "stream": stream,
                    "@timestamp": time_ns // 1_000_000,
                    "role": role,
                    "rank": rank,
                }
                yield {"_id": f"{run.id}-{run.attempt}-{number}", "_source": source}

    def _found(self, action_id: str) -> Run | Schedule | None:
        """The run or schedule with exactly this id, if this client submitted it."""
        wanted = action_id.lower()
        if not _UUID.fullmatch(wanted):
            return None
        for find in (self._client.runs.get, self._client.schedules.get):
            try:
                found = find(wanted)
            except NotFoundError:
                continue
            if found.id == wanted and found.owner == self._owner:
                return found
        return None

    def _action(self, found: Run | Schedule) -> Action:
        is_run = isinstance(found, Run)
        text = self._client.runs.text(found.id) if is_run else self._client.schedules.text(found.id)
        name = found.descriptor.info.name if isinstance(found, Run) else found.name
        return Action(
            action_id=found.id,
            parent_id=found.parent_id if isinstance(found, Run) else None,
            client_id=self._client_id,
            text=text,
            name=f"{name}.toml",
        )

    def _of_run(self, run: Run, cursor: Cursor) -> list[Json]:
        action, known = self._action(run), statuses.place_of(run.id, cursor.message_id)
        url = f"{self._address}/api/v1/runs/{run.id}"
        made = (
            each
            for event in self._events(run.id, max(0, known[0] - 1) if known else 0)
            for each in statuses.after(run.id, statuses.of_event(action, run, event, url), cursor)
        )
        return list(islice(made, MOST))

    def _events(self, run_id: str, after_seq: int) -> Iterator[Event]:
        while page := self._client.runs.events(run_id, after_seq=after_seq):
            yield from page
            after_seq = page[-1].seq or 0

    def _of_schedule(self, schedule: Schedule) -> list[Json]:
        due_times = list(self._client.schedules.due_times(schedule.id, limit=1000))
        return statuses.of_schedule(self._action(schedule), schedule, due_times)

    def _cancellations(self, found: Run | Schedule) -> Iterator[Event]:
        """The requests to cancel an action and the runs that it caused."""
        if isinstance(found, Schedule):
            if found.paused_s is not None:
                yield Event(run_id=found.id, kind=CANCEL_EVENT, time_s=found.paused_s, seq=1)
            return
        for run_id in (found.id, *(row.id for row in self._caused(found.id))):
            yield from (each for each in self._events(run_id, 0) if each.kind == CANCEL_EVENT)

    def _caused(self, parent_id: str) -> Sequence[RunRow]:
        return self._client.runs.find(RunQuery(parent_id=parent_id, limit=_ALL))


def _unknown(action_id: str) -> NotFoundError:
    return NotFoundError(f"no action of this client has the id {action_id}", remedy="check the client id")
