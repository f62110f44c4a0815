"""The Python interface: the verbs of the command line, grouped by noun. ``anubis.run`` is in ``client.outcome``."""

from anubis.client.client import Client

__all__ = ["Client"]
