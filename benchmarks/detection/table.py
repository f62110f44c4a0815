"""The bars as rows of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from peers import NAMES

#: The constants of the detector were chosen on these seeds.
TUNED = 1
#: Never used for choosing anything.
FRESH = 20261205


@dataclass(frozen=True, kw_only=True)
class Bar:
    name: str
    #: On the seeds the constants were chosen on.
    tuned: float
    #: On seeds that were never used for choosing; None: the value depends on no seed.
    fresh: float | None = None
    most: float | None = None
    least: float | None = None
    #: Peer -> its value in this run, on the series of ``fresh``; peers that were not asked are absent.
    peers: Mapping[str, float | None] = field(default_factory=dict)
    #: Number of series that every detector of the row got.
    series: int
    #: Differences from a peer below this are called ties.
    tie: float = 0.0

    @property
    def judged(self) -> float:
        return self.tuned if self.fresh is None else self.fresh

    @property
    def held(self) -> bool | None:
        """Whether the value that was not tuned on meets the target; None without one."""
        if self.most is None and self.least is None:
            return None
        return (self.most is None or self.judged <= self.most) and (
            self.least is None or self.judged >= self.least
        )

    @property
    def target(self) -> str:
        if self.most is not None:
            return f"<= {self.most:g}" if self.least is None else f"{self.least:g} to {self.most:g}"
        return "" if self.least is None else f">= {self.least:g}"

    def row(self) -> list[str]:
        ours = f"**{number(self.judged)} (missed)**" if self.held is False else number(self.judged)
        tuned = "" if self.fresh is None else number(self.tuned)
        return [self.name, self.target, f"{self.series:,}", ours, tuned, *map(self._peer, NAMES)]

    def _peer(self, name: str) -> str:
        value = self.peers.get(name)
        is_tie = value is not None and abs(value - self.judged) < self.tie
        return f"{number(value)} (tie)" if is_tie else number(value)


def number(value: float | None) -> str:
    if value is None:
        return ""
    if abs(value) >= 10**5:
        return "never"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def rows(bars: list[Bar], versions: Mapping[str, str]) -> list[list[str]]:
    """The rows of the table, titles first; ``versions`` are those of the peers that took part."""
    peers = [" ".join((TITLES[name], versions.get(name, ""))).strip() for name in NAMES]
    return [["", "bar", "series", *OURS, *peers], *(bar.row() for bar in bars)]


def rows_of_times(bars: list[Bar], versions: Mapping[str, str]) -> list[list[str]]:
    """``rows`` without the columns of seeds: times do not depend on them."""
    titles, *others = [[*row[:4], *row[5:]] for row in rows(bars, versions)]
    return [[*titles[:3], "Anubis", *titles[4:]], *others]


def rows_without_peers(bars: list[Bar], counted: str) -> list[list[str]]:
    """The rows of a table that no peer can take part in; ``counted`` is what the column of numbers counts."""
    return [["", "bar", counted, *OURS], *(bar.row()[: -len(NAMES)] for bar in bars)]


OURS = (f"Anubis, seed {FRESH}", f"Anubis, tuned seed {TUNED}")
TITLES = {"otava": "Otava", "asv": "asv", "mongodb": "MongoDB", "ruptures": "ruptures"}
