"""Delivery of alerts, and of reports."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A report as a message."""

    #: The same for a repetition, so that it is shown once; letters, digits and ``-``.
    key: str
    #: On one line.
    subject: str
    text: str
    #: A complete HTML file, to be attached.
    html: str
    #: UTC seconds.
    made_s: float


@runtime_checkable
class SendsLetters(Protocol):
    """A notifier that can also send reports."""

    def send(self, to: str, letter: Letter) -> None:
        """Send a report. Raises NotifyError; it is ``permanent`` if it must not be retried."""
        ...
