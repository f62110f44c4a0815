"""Sends scheduled reports: each due time once to each address, also with several services on one database."""

import hashlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from anubis import describe
from anubis.contracts.notifier import Letter, SendsLetters
from anubis.contracts.runs import KeyedSubmission
from anubis.contracts.world import World
from anubis.model.delivery import redacted, without_address
from anubis.model.errors import AnubisError, ConflictError, NotifyError
from anubis.publishing.mail.rules import DAY_S, ScheduledReport
from anubis.publishing.request import ReportKind, ReportRequest
from anubis.reporting.documents import html, markdown
from anubis.reporting.documents.document import Document
from anubis.reporting.markup import one_line

log = logging.getLogger(__name__)

#: Interval between looks for due times, seconds.
EVERY_S = 60.0
#: Another process tries again if the one that claimed a report has not sent it for so long, seconds.
LEASE_S = 600.0
#: Most attempts of a due time, and how long after it a report is still sent, seconds.
MOST_ATTEMPTS, LATEST_S = 20, DAY_S
_SENT = "sent"


class ScheduledReports:
    """A chore that sends the reports that are due.

    An attempt is claimed by a key in the database, which only one process can store; after it was sent a further key is stored.
    A process that is killed between sending and storing causes a second message with the same Message-ID, which mail
    programs show once.
    """

    name = "reports"

    def __init__(
        self,
        world: World,
        owner: str,
        reports: Callable[[], Sequence[ScheduledReport]],
        make: Callable[[World, ReportRequest], Document],
    ) -> None:
        """``owner`` is unique among all processes; ``make`` is ``reports.report``, loaded only for a report."""
        self._make = make
        self._world = world
        self._owner = owner
        self._reports = reports
        self._next_s = 0.0

    def turn(self) -> float | None:
        """Send what is due; None: no worker waits for the next due time."""
        now_s = self._world.clock.monotonic_s()
        if now_s < self._next_s:
            return None
        self._next_s = now_s + EVERY_S
        try:
            for each in self._reports():
                self._look(each)
        except AnubisError as error:
            log.warning("cannot send scheduled reports: %s", error)
        return None

    def _look(self, scheduled: ScheduledReport) -> None:
        due_s = latest_due(scheduled, self._world.clock.now_s())
        if due_s is None:
            return
        for to in scheduled.to:
            key = _key(scheduled, to, due_s)
            if self._claim(key):
                self._send(scheduled, to, due_s, key)

    def _claim(self, key: str) -> bool:
        """Whether this process is the one that sends it now."""
        runs, now_s = self._world.runs, self._world.clock.now_s()
        if runs.submission(f"{key} {_SENT}"):
            return False
        for number in range(MOST_ATTEMPTS):
            claimed = runs.submission(f"{key} {number}")
            if claimed is None:
                return self._store(f"{key} {number}")
            if now_s < claimed.created_s + LEASE_S:
                return False
        return False

    def _store(self, key: str) -> bool:
        now_s = self._world.clock.now_s()
        try:
            keyed = KeyedSubmission(key=key, digest=self._owner, run_ids=(), created_s=now_s)
            self._world.runs.add([], [], keyed=keyed)
        except ConflictError:
            return False
        return True

    def _send(self, scheduled: ScheduledReport, to: str, due_s: float, key: str) -> None:
        try:
            notifier: object = self._world.notifiers.get(to.partition(":")[0])
            if not isinstance(notifier, SendsLetters):
                raise NotifyError(
                    "its scheme sends no reports", permanent=True, remedy="use mailto:NAME@HOST"
                )
            request = ReportRequest(
                kind=ReportKind.DAILY if scheduled.daily else ReportKind.PERIOD,
                since_s=due_s - scheduled.period_s,
                until_s=due_s,
                group_by=scheduled.group_by,
            )
            notifier.send(to, letter(self._make(self._world, request), key))
        except NotifyError as error:
            log.warning("cannot send the report to %s: %s", redacted(to), without_address(str(error), to))
            if not error.permanent:
                return  # the claim ends, and the report is tried again
        self._store(f"{key} {_SENT}")


def latest_due(scheduled: ScheduledReport, now_s: float) -> float | None:
    """The latest due time that is not too long ago; None: there is none. Earlier ones are not made up for."""
    times = describe.due_times(scheduled.schedule, scheduled.timezone, now_s - LATEST_S)
    due = list(takewhile(lambda due_s: due_s <= now_s, times))
    return due[-1] if due else None


def _key(scheduled: ScheduledReport, to: str, due_s: float) -> str:
    digest = hashlib.sha256(
        repr((replace(scheduled, to=()), to, due_s)).encode("utf-8", "replace")
    ).hexdigest()
    return f"report {digest[:32]}"


def letter(document: Document, key: str) -> Letter:
    """The message: the report as text, and as a file that opens in a browser."""
    return Letter(
        key=key.replace(" ", "-"),
        subject=one_line(f"Anubis: {document.verdict}", 150),
        text=markdown.text(document),
        html=html.page(document),
        made_s=document.made_s or 0.0,
    )
