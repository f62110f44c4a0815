"""Delivering notices of alerts."""

from anubis.pipeline import worker
from anubis.wiring import Installation


def deliver(installation: Installation) -> None:
    """Deliver what is due now; a background worker retries what cannot be delivered at the moment."""
    if not installation.relay.turn():
        worker.start(installation.settings.home)
