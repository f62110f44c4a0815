"""The Python interface: the same verbs with the same words as the command line."""

from anubis.client.embedded import Client, Outcome, run

__all__ = ["Client", "Outcome", "run"]
