"""Tells people what events say, at least once each, and goes on where it stopped after an outage.

Every address is a receiver with a cursor of its own, so one that does not answer holds up nobody else. An address
becomes a receiver with the first event that names it (``data["to"]``).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from anubis.contracts.alerts import Alerts, Cursors
from anubis.contracts.clock import Clock
from anubis.contracts.events import Events
from anubis.contracts.notifier import Notifier
from anubis.model.errors import NotFoundError, NotifyError
from anubis.model.run import Event

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
        self,
        events: Events,
        alerts: Alerts,
        cursors: Cursors,
        notifiers: Mapping[str, Notifier],
        clock: Clock,
    ) -> None:
        self._events = events
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
        while events := self._events.read(after_seq=at):
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
        while events := self._events.read(after_seq=seq):
            for event in events:
                if to in _addresses(event) and not self._tell(name, to, event):
                    return False
                seq = event.seq or seq
            self._cursors.advance(name, seq)
        self._pauses.pop(name, None)
        return True

    def _tell(self, name: str, to: str, event: Event) -> bool:
        scheme = to.partition(":")[0]
        try:
            notifier = self._notifiers.get(scheme)
            if notifier is None:
                raise NotifyError(f'no notifier serves "{scheme}"', permanent=True)
            notifier.notify(to, self._alerts.get(event.data["alert"]))
        except NotFoundError:
            log.warning("alert %s is gone; nobody is told of it", event.data["alert"])
        except NotifyError as error:
            if not error.permanent:
                self._put_off(name, event, error)
                return False
            self._note_refusal(scheme, event, error)
        except Exception as error:  # one notifier's defect or settings hold up nobody else
            log.exception("notifier %s", scheme)
            self._put_off(name, event, NotifyError(str(error)))
            return False
        return True

    def _put_off(self, name: str, event: Event, error: NotifyError) -> None:
        last = self._pauses.get(name)
        length_s = min(last.length_s * 2, LONGEST_PAUSE_S) if last else FIRST_PAUSE_S
        wait_s = error.again_after_s if error.again_after_s is not None else length_s
        self._pauses[name] = _Pause(self._clock.now_s() + wait_s, length_s)
        self._cursors.advance(name, (event.seq or 1) - 1)
        log.warning("an address could not be told, trying again in %g s: %s", wait_s, error)

    def _note_refusal(self, scheme: str, event: Event, error: NotifyError) -> None:
        """Addresses may hold secrets: only their scheme is written down."""
        message = f"a {scheme} address cannot be told, and trying again would not help: {error}"
        log.warning(message)
        refused = Event(
            run_id=event.run_id,
            kind="undelivered",
            time_s=self._clock.now_s(),
            message=message,
            data={"alert": event.data["alert"]},
        )
        self._events.append([refused])


def _addresses(event: Event) -> list[str]:
    return list(event.data.get("to", ())) if event.kind == ALERT else []
