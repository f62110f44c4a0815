"""Delivery of alerts."""

from typing import Protocol

from anubis.model.alert import Alert


class Notifier(Protocol):
    """Delivers alerts to the addresses of its schemes (``[[notify]] to``)."""

    #: What stands before the first colon of an address: mailto, slack, https ...
    schemes: frozenset[str]

    def notify(self, to: str, alert: Alert) -> None:
        """Deliver the alert as it is now. Keyed by alert id and state, so that twice is seen once.

        Called from several threads at the same time, but never twice at the same time for one address. Raises
        NotifyError when it should be tried again later, or never (``permanent``).
        """
        ...
