"""Webhooks that receive events."""

from collections.abc import Sequence
from typing import Protocol

from anubis.contracts.events import Sink


class Webhooks(Protocol):
    """Receivers of events. A reference is an id or a unique prefix. Answers do not contain secrets."""

    def add(self, address: str, secret: str, *, kinds: Sequence[str] = (), past: bool = False) -> Sink:
        """Store a webhook, which receives events from now on; with ``past`` also those that are stored already.

        ``secret`` are the keys of the signature, separated by spaces. ``kinds`` are kinds of events; none: all. Raises
        BadInputError.
        """
        ...

    def find(self) -> Sequence[Sink]:
        """All webhooks, in the order in which they were added."""
        ...

    def get(self, ref: str) -> Sink:
        """One webhook. Raises NotFoundError."""
        ...

    def remove(self, ref: str) -> Sink:
        """Delete a webhook."""
        ...

    def resume(self, ref: str) -> Sink:
        """Deliver to a webhook that is off, or that waits after a failure, from its position on."""
        ...

    def test(self, ref: str) -> None:
        """Send a message of type ``webhook.test`` now. Raises NotifyError if it is not accepted."""
        ...
