"""Delivers alerts to their addresses, at least once each."""

import logging
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue

from anubis.contracts.alerts import Alerts
from anubis.contracts.clock import Clock
from anubis.contracts.deliveries import Deliveries
from anubis.contracts.notifier import Notifier
from anubis.model.alert import Alert
from anubis.model.delivery import Delivery, DeliveryStatus, redacted, without_address
from anubis.model.errors import NotFoundError, NotifyError, PlugInError, StoreError
from anubis.model.run import LONGEST_PAUSE_S, Event
from anubis.pipeline.lease_owner import is_dead, new_owner

log = logging.getLogger(__name__)

#: First pause after a failed attempt, seconds; it doubles up to ``LONGEST_PAUSE_S``.
FIRST_PAUSE_S = 1.0
#: Duration of the lease of a delivery, seconds.
LEASE_S = 60.0
#: How long the results of deliveries are kept, seconds; the timelines of runs keep them as events.
KEPT_S = 90 * 86_400.0
#: Interval between checks for due deliveries while attempts are in progress, seconds.
LOOK_EVERY_S = 1.0
#: Maximum number of concurrent deliveries that are not slow, and of all. Each is to another address.
AT_ONCE, AT_ONCE_WITH_SLOW = 8, 64
#: A delivery that takes longer, in seconds, is slow: its receiver probably hangs.
SLOW_S = 5.0


class Relay:
    """A chore that delivers the outbox.

    Each delivery has a separate thread, so a receiver that is slow or does not answer delays no other delivery, unless
    there are ``AT_ONCE_WITH_SLOW`` such receivers.
    The outcome is stored after the attempt. If the process dies in between, the attempt is repeated.
    """

    name = "relay"

    def __init__(
        self,
        deliveries: Deliveries,
        alerts: Alerts,
        notifiers: Mapping[str, Notifier],
        clock: Clock,
        *,
        lease_s: float = LEASE_S,
    ) -> None:
        self._deliveries = deliveries
        self._alerts = alerts
        self._notifiers = notifiers
        self._clock = clock
        self._lease_s = lease_s
        self._owner = new_owner()
        self._turning = threading.Lock()
        #: The deliveries that have a thread, by number, with the monotonic time of their start.
        self._under_way: dict[int, float] = {}
        #: Numbers of the deliveries whose attempt has no outcome yet.
        self._attempts: set[int] = set()
        #: Failed deliveries, by number: due time as stored, and monotonic time of the next attempt. The wall clock may jump.
        self._retries_s: dict[int, tuple[float, float]] = {}
        #: Numbers of the deliveries whose thread has ended.
        self._ended: SimpleQueue[int] = SimpleQueue()

    def turn(self) -> float | None:
        """Deliver what is due; seconds until the next delivery is due, None if none is pending."""
        with self._turning:
            if self._deliveries.next_due_s() is None:
                return None
            for owner in self._deliveries.owners():
                if is_dead(owner):
                    self._deliveries.release(owner)
            self._deliver_due()
            self._deliveries.forget(before_s=self._clock.now_s() - KEPT_S)
            due_s = self._deliveries.next_due_s()
        if due_s is None:
            return None
        wait_s = due_s - self._clock.now_s()
        return wait_s if 0.0 < wait_s <= LONGEST_PAUSE_S else 0.0

    def _deliver_due(self) -> None:
        """Start due deliveries and renew the leases of long ones, until none is due or in progress."""
        renewed_s = self._clock.monotonic_s()
        while True:
            self._start_due()
            if not self._under_way:
                return
            with suppress(Empty):
                self._under_way.pop(self._ended.get(timeout=min(LOOK_EVERY_S, self._lease_s / 3)), None)
            if self._under_way and self._clock.monotonic_s() - renewed_s >= self._lease_s / 3:
                renewed_s, now_s = self._clock.monotonic_s(), self._clock.now_s()
                self._deliveries.renew(self._owner, list(self._under_way), now_s=now_s, lease_s=self._lease_s)

    def _start_due(self) -> None:
        now_s, started_s = self._clock.now_s(), self._clock.monotonic_s()
        quick = sum(started_s - since_s < SLOW_S for since_s in self._under_way.values())
        room = min(AT_ONCE - quick, AT_ONCE_WITH_SLOW - len(self._under_way))
        if room <= 0:
            return
        for delivery in self._deliveries.claim(self._owner, now_s=now_s, lease_s=self._lease_s, limit=room):
            number = delivery.no or 0
            if number in self._attempts:  # its lease expired in the database because the wall clock jumped
                continue
            due_s, retry_s = self._retries_s.pop(number, (0.0, 0.0))
            if delivery.due_s == due_s and retry_s > started_s:
                self._put_back(delivery, retry_s - started_s)
                continue
            self._attempts.add(number)
            # A daemon thread: the program need not wait for receivers; the lease of a dead owner is released.
            threading.Thread(target=self._deliver, args=(delivery,), name=self.name, daemon=True).start()
            self._under_way[number] = started_s

    def _deliver(self, delivery: Delivery) -> None:
        try:
            alert = self._alert(delivery)
            after = self._attempt(delivery, alert)
            self._attempts.discard(delivery.no or 0)
            events = [] if after.ended_s is None else [_event(after, alert, after.ended_s)]
            if not self._deliveries.apply(self._owner, after, events):
                log.warning("another relay took over a delivery to %s", redacted(delivery.to))
        except StoreError as error:
            log.warning("cannot store the outcome of a delivery, so it is repeated: %s", error)
        except Exception:
            log.exception("cannot store the outcome of a delivery, so it is repeated")
        finally:
            self._attempts.discard(delivery.no or 0)
            self._ended.put(delivery.no or 0)

    def _alert(self, delivery: Delivery) -> Alert | None:
        try:
            return self._alerts.get(delivery.alert_id)
        except NotFoundError:
            return None

    def _attempt(self, delivery: Delivery, alert: Alert | None) -> Delivery:
        """The delivery after one attempt."""
        tried = replace(delivery, attempts=delivery.attempts + 1, error="")
        scheme = delivery.to.partition(":")[0]
        try:
            if alert is None:
                raise NotifyError("the alert no longer exists", permanent=True)
            self._notifier(scheme).notify(delivery.to, alert)
        except NotifyError as error:
            return self._failed(tried, error)
        except BaseException as error:  # noqa: BLE001  a notifier that exits must not stop the others either
            text = without_address(f"{type(error).__name__}: {error}", delivery.to)
            # Not log.exception: the text of the exception may contain the address.
            log.error(  # noqa: TRY400
                "notifier %s: %s\n%s", scheme, text, "".join(traceback.format_tb(error.__traceback__))
            )
            return self._failed(tried, NotifyError(text))
        return self._ended_as(DeliveryStatus.DELIVERED, tried)

    def _notifier(self, scheme: str) -> Notifier:
        """The notifier of a scheme. Raises NotifyError: permanent if there is none, temporary if it is broken."""
        try:
            return self._notifiers[scheme]
        except PlugInError as error:
            raise NotifyError(error.message, remedy=error.remedy) from error
        except KeyError:
            raise NotifyError(f'no notifier serves "{scheme}"', permanent=True) from None

    def _ended_as(self, status: DeliveryStatus, tried: Delivery) -> Delivery:
        return replace(tried, status=status, to=redacted(tried.to), ended_s=self._clock.now_s())

    def _failed(self, tried: Delivery, error: NotifyError) -> Delivery:
        text, to = without_address(str(error), tried.to), redacted(tried.to)
        if error.permanent:
            log.warning("cannot deliver to %s: %s; not retried", to, text)
            return self._ended_as(DeliveryStatus.REFUSED, replace(tried, error=text))
        pause_s = min(FIRST_PAUSE_S * 2.0 ** min(tried.attempts - 1, 30), LONGEST_PAUSE_S)
        wait_s = pause_s if error.again_after_s is None else error.again_after_s
        log.warning("cannot deliver to %s, retrying in %g s: %s", to, wait_s, text)
        return self._due_after(replace(tried, error=text), wait_s)

    def _put_back(self, delivery: Delivery, wait_s: float) -> None:
        """Release a delivery that is due only because the wall clock jumped."""
        self._deliveries.apply(self._owner, self._due_after(delivery, wait_s), [])

    def _due_after(self, delivery: Delivery, wait_s: float) -> Delivery:
        due_s = self._clock.now_s() + min(wait_s, LONGEST_PAUSE_S)
        self._retries_s[delivery.no or 0] = due_s, self._clock.monotonic_s() + wait_s
        return replace(delivery, due_s=due_s)


def _event(after: Delivery, alert: Alert | None, now_s: float) -> Event:
    """The event that records the end of a delivery; its address is already redacted."""
    to, state = after.to, alert.state if alert else after.state
    if after.status is DeliveryStatus.DELIVERED:
        tries = "" if after.attempts == 1 else f" after {after.attempts} attempts"
        kind, message = "delivered", f"{state} delivered to {to}{tries}"
    else:
        kind, message = "undelivered", f"cannot deliver {state} to {to}: {after.error}; not retried"
    return Event(
        run_id=after.run_id or "",
        kind=kind,
        time_s=now_s,
        message=message,
        data={"alert": after.alert_id, "state": state, "to": to, "attempts": after.attempts},
    )
