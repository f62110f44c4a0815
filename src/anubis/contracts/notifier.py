"""Delivery of alerts."""

from typing import Protocol

from anubis.model.alert import Alert


class Notifier(Protocol):
    """Delivers alerts to addresses. The name of its entry point is the scheme of its addresses.

    A scheme is the part of an address before its first colon: mailto, slack, https ...
    """

    def notify(self, to: str, alert: Alert) -> None:
        """Deliver the alert in its current state. Keyed by alert id and state, so that a repetition is shown once.

        Called from several threads at the same time, but never concurrently for one address. Raises NotifyError;
        it is ``permanent`` if the delivery must not be retried.
        """
        ...
