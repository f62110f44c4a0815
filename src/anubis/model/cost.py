"""What runs cost, and the prices from which it is computed."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """An amount of money, or that the amount is unknown. An unknown cost is not zero."""

    #: None: unknown.
    amount: float | None
    #: Three letters, such as USD; empty if the amount is unknown.
    currency: str = ""

    def plus(self, other: "Cost") -> "Cost":
        """The sum; unknown if either is unknown, or the currencies differ."""
        if self.amount is None or other.amount is None or self.currency != other.currency:
            return UNKNOWN
        return Cost(amount=self.amount + other.amount, currency=self.currency)


UNKNOWN = Cost(amount=None)


def parsed(text: str) -> Cost:
    """The amount of a limit such as ``25 USD``."""
    return Cost(amount=float(text[:-3]), currency=text[-3:])


def total(costs: Iterable[Cost | None]) -> tuple[Cost | None, int]:
    """The sum of the known costs, and the number of unknown ones; None: no cost is known.

    Costs in another currency than the first one count as unknown.
    """
    found: Cost | None = None
    unknown = 0
    for cost in costs:
        if cost is None:
            continue
        both = cost if found is None else found.plus(cost)
        if both.amount is None:
            unknown += 1
        else:
            found = both
    return found, unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices of machines per hour."""

    #: Three letters, such as USD.
    currency: str = ""
    #: By ``hardware.instance_type``.
    machines: dict[str, float] = field(default_factory=dict)
    #: By the name of the machine; before that of its type.
    hosts: dict[str, float] = field(default_factory=dict)

    def per_hour(self, instance_type: str, host: str = "") -> float | None:
        """The price of one machine; None: unknown."""
        return self.hosts.get(host, self.machines.get(instance_type))


NO_PRICES = Prices()
