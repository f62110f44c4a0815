"""Tells people what events say, at least once each, and goes on where it stopped after an outage.

Every address is a receiver with a cursor of its own, so one that does not answer holds up nobody else. An address
becomes a receiver with the first event that names it (``data["to"]``).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from anubis.model.errors import NotFoundError, NotifyError
from anubis.model.run import Event
from anubis.pipeline.contracts import Alerts, Clock, Cursors, Notifier, Runs

log = logging.getLogger(__name__)

#: Kind of the events that tell of an alert.
ALERT = "alert"
_SCOUT = "notify"
_PREFIX = "notify/"
#: First and longest pause after a failed delivery, seconds; it doubles in between.
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 300.0


@dataclass(slots=True)
class _Pause:
    until_s: float
    length_s: float


class Relay:
    """Delivers alert events to the notifiers that serve their addresses."""

    def __init__(
        self, runs: Runs, alerts: Alerts, cursors: Cursors, notifiers: Mapping[str, Notifier], clock: Clock
    ) -> None:
        self._runs = runs
        self._alerts = alerts
        self._cursors = cursors
        self._notifiers = notifiers
        self._clock = clock
        self._pauses: dict[str, _Pause] = {}

    def turn(self) -> bool:
        """Deliver what is due; True when everything that could be delivered was."""
        self._discover()
        delivered = [self._deliver(name, seq) for name, seq in self._cursors.all(_PREFIX).items()]
        return all(delivered)

    def _discover(self) -> None:
        at = self._cursors.all(_SCOUT).get(_SCOUT, 0)
        known = set(self._cursors.all(_PREFIX))
        while events := self._runs.events(after_seq=at):
            for event in events:
                seq = event.seq or 0
                for to in _addresses(event):
                    if _PREFIX + to not in known:
                        known.add(_PREFIX + to)
                        self._cursors.advance(_PREFIX + to, seq - 1)
                at = seq
            self._cursors.advance(_SCOUT, at)

    def _deliver(self, name: str, seq: int) -> bool:
        pause = self._pauses.get(name)
        if pause and self._clock.now_s() < pause.until_s:
            return False
        to = name.removeprefix(_PREFIX)
        while events := self._runs.events(after_seq=seq):
            for event in events:
                if to in _addresses(event) and not self._tell(name, to, event):
                    return False
                seq = event.seq or seq
            self._cursors.advance(name, seq)
        self._pauses.pop(name, None)
        return True

    def _tell(self, name: str, to: str, event: Event) -> bool:
        notifier = self._notifiers.get(to.partition(":")[0])
        try:
            if notifier is None:
                raise NotifyError(f"no notifier serves {to}", permanent=True)
            notifier.notify(to, self._alerts.get(event.data["alert"]))
        except NotFoundError:
            log.warning("alert %s is gone; %s is not told of it", event.data["alert"], to)
        except NotifyError as error:
            if error.permanent:
                log.error("%s cannot be told, and trying again would not help: %s", to, error)  # noqa: TRY400
                return True
            self._pause(name, to, error)
            if event.seq:
                self._cursors.advance(name, event.seq - 1)
            return False
        return True

    def _pause(self, name: str, to: str, error: NotifyError) -> None:
        last = self._pauses.get(name)
        length_s = min(last.length_s * 2, LONGEST_PAUSE_S) if last else FIRST_PAUSE_S
        wait_s = error.again_after_s if error.again_after_s is not None else length_s
        self._pauses[name] = _Pause(self._clock.now_s() + wait_s, length_s)
        log.warning("%s could not be told, trying again in %g s: %s", to, wait_s, error)


def _addresses(event: Event) -> list[str]:
    return list(event.data.get("to", ())) if event.kind == ALERT else []
