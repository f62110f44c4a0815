"""Delivery of alerts."""

from typing import Protocol

from anubis.model.alert import Alert


class Notifier(Protocol):
    """Who is told. One notifier serves the addresses of its schemes (``[[notify]] to``)."""

    #: What stands before the first colon of an address: mailto, slack, https ...
    schemes: frozenset[str]

    def notify(self, to: str, alert: Alert) -> None:
        """Tell about the alert as it is now. Keyed by alert id and state, so that twice is seen once.

        Raises NotifyError when it should be tried again later, or never (``permanent``).
        """
        ...
