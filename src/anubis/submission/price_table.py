"""The price table of an installation: a TOML file with prices of machines per hour."""

import re
import threading
import tomllib
from pathlib import Path
from typing import Any

from anubis.model.errors import BadInputError
from anubis.model.hardware import NO_PRICES, Prices
from anubis.model.problem import Problem
from anubis.settings import Settings

_TABLES = ("machines", "hosts")


class PriceFile:
    """``PriceTable`` (see the contract) in a file, which is read again after it was changed."""

    def __init__(self, file: Path, *, required: bool = False) -> None:
        """``required``: a missing file is an error, because someone named it."""
        self._file, self._required = file, required
        self._lock = threading.Lock()
        self._version: tuple[int, int, int] | None = None
        self._prices = NO_PRICES

    def current(self) -> Prices:
        """See the contract. Without a file that is not required, no price is known."""
        with self._lock:
            try:
                found = self._file.stat()
                version = (found.st_mtime_ns, found.st_size, found.st_ino)
                if version != self._version:
                    self._prices = read(self._file.read_text(encoding="utf-8"), self._file)
                    self._version = version
            except FileNotFoundError:
                if not self._required:
                    return NO_PRICES
                raise BadInputError(
                    f"there is no price table {self._file}", remedy="create it, or remove ANUBIS_PRICES"
                ) from None
            except (OSError, UnicodeDecodeError) as error:
                raise BadInputError(
                    f"the price table {self._file} cannot be read: {error}", remedy="make it readable"
                ) from error
            return self._prices


def of_installation(settings: Settings) -> PriceFile:
    """The price table that the settings name, else the one that may be in the home folder."""
    return PriceFile(settings.prices, required=settings.prices != settings.home / "prices.toml")


def read(text: str, file: Path) -> Prices:
    """The prices in a text. Raises BadInputError with every problem."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"the price table {file} is not TOML: {error}", remedy="correct it") from error
    problems = [
        Problem(
            path=key, message="this is not a key of the price table", remedy="use currency, machines or hosts"
        )
        for key in tree
        if key not in {"currency", *_TABLES}
    ]
    currency = tree.get("currency")
    if not isinstance(currency, str) or not re.fullmatch("[A-Z]{3}", currency):
        problems.append(
            Problem(
                path="currency",
                message="the currency is not three letters",
                remedy='for example: currency = "USD"',
            )
        )
    tables: dict[str, dict[str, float]] = {name: {} for name in _TABLES}
    for name, prices in tables.items():
        problems += _read(name, tree.get(name, {}), prices)
    if problems:
        named = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
        raise BadInputError(
            f"the price table {file} is not valid: {named}",
            remedy=problems[0].remedy,
            problems=problems,
            file=str(file),
        )
    return Prices(currency=str(currency), machines=tables["machines"], hosts=tables["hosts"])


def _read(name: str, table: Any, prices: dict[str, float]) -> list[Problem]:
    """Add the prices of a table; what is not valid."""
    example = f"for example: [{name}] and below it local = 0.05"
    if not isinstance(table, dict):
        return [Problem(path=name, message="this is not a table", remedy=example)]
    problems = []
    for key, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
            message = "a price is a number per hour, of at least 0"
            problems.append(Problem(path=f"{name}.{key}", message=message, remedy=example))
        else:
            prices[key] = float(value)
    return problems
