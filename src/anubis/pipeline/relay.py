"""Delivers alerts to their addresses, at least once each."""

import logging
import traceback
from collections.abc import Mapping
from dataclasses import replace

from anubis.contracts.alerts import Alerts
from anubis.contracts.clock import Clock
from anubis.contracts.deliveries import Deliveries
from anubis.contracts.notifier import Notifier
from anubis.model.alert import Alert
from anubis.model.delivery import Delivery, DeliveryStatus, redacted, without_address
from anubis.model.errors import NotFoundError, NotifyError, PlugInError
from anubis.model.run import Event
from anubis.pipeline.chores.delivering import LEASE_S, Delivering, pause_s

log = logging.getLogger(__name__)

#: How long the results of deliveries are kept, seconds; the timelines of runs keep them as events.
KEPT_S = 90 * 86_400.0


class Relay(Delivering[Delivery]):
    """A chore that delivers the outbox."""

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
        super().__init__(deliveries, clock, lease_s)
        self._deliveries = deliveries
        self._alerts = alerts
        self._notifiers = notifiers

    def _forget(self) -> None:
        self._deliveries.forget(before_s=self._clock.now_s() - KEPT_S)

    def _shown(self, item: Delivery) -> str:
        return redacted(item.to)

    def _attempt(self, item: Delivery) -> bool:
        alert = self._alert(item)
        after = self._tried(item, alert)
        self._made(item)
        events = [] if after.ended_s is None else [_event(after, alert, after.ended_s)]
        return self._deliveries.apply(self._owner, after, events)

    def _store_due(self, item: Delivery, due_s: float) -> None:
        self._deliveries.apply(self._owner, replace(item, due_s=due_s), [])

    def _alert(self, delivery: Delivery) -> Alert | None:
        try:
            return self._alerts.get(delivery.alert_id)
        except NotFoundError:
            return None

    def _tried(self, delivery: Delivery, alert: Alert | None) -> Delivery:
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
        wait_s = pause_s(tried.attempts) if error.again_after_s is None else error.again_after_s
        log.warning("cannot deliver to %s, retrying in %g s: %s", to, wait_s, text)
        return replace(tried, error=text, due_s=self._due_after(tried, wait_s))


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
