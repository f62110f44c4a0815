"""The Python interface: the verbs of the command line, grouped by noun."""

from anubis.client.client import Client
from anubis.client.outcome import Outcome, run

__all__ = ["Client", "Outcome", "run"]
