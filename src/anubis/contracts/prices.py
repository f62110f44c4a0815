"""Prices of machines."""

from dataclasses import dataclass
from typing import Protocol

from anubis.model.cost import NO_PRICES, Prices


class PriceTable(Protocol):
    """The prices of the machines of an installation."""

    def current(self) -> Prices:
        """The prices now. Raises BadInputError if they are not valid."""
        ...


@dataclass(frozen=True, slots=True)
class FixedPrices:
    """Prices that do not change."""

    prices: Prices = NO_PRICES

    def current(self) -> Prices:
        """See ``PriceTable``."""
        return self.prices


NO_TABLE = FixedPrices()
