"""Delivery of alerts."""

from typing import Protocol

from anubis.model.alert import Alert


class Notifier(Protocol):
    """Delivers alerts to addresses. The name of its entry point is the scheme that it serves.

    A scheme is the part of an address before its first colon: mailto, slack, https ...
    """

    def notify(self, to: str, alert: Alert) -> None:
        """Deliver the alert in its present state. Keyed by alert id and state, so that twice is seen once.

        Raises NotifyError when it should be tried again later, or never (``permanent``).
        """
        ...
