"""Facts about the machine on which something was measured."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineFacts:
    """What the agent found out about a machine. ``fingerprint`` covers the facts that must match before two
    points are comparable (CPU model, cores, memory class, accelerators, container or not).
    """

    fingerprint: str
    #: Everything in ``facts.json``: JSON values under documented keys.
    facts: dict[str, Any] = field(default_factory=dict)
