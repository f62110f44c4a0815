"""The bars as a Markdown table."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bar:
    name: str
    #: On the seeds the constants were chosen on.
    tuned: float
    #: On seeds that were never used for choosing; None: the figure depends on no seed.
    fresh: float | None = None
    most: float | None = None
    least: float | None = None
    #: Peer -> its figure in this run; None where it was not asked.
    peers: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def held(self) -> bool | None:
        """Whether the figure that was not tuned on meets the target; None without one."""
        judged = self.tuned if self.fresh is None else self.fresh
        if self.most is not None:
            return judged <= self.most
        return None if self.least is None else judged >= self.least

    @property
    def target(self) -> str:
        if self.most is not None:
            return f"<= {self.most:g}"
        return "" if self.least is None else f">= {self.least:g}"


def number(value: float | None) -> str:
    if value is None:
        return ""
    if abs(value) >= 10**5:
        return "never"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def show(bars: list[Bar]) -> None:
    print("| bar | target | tuned seed | fresh seed | | peers in this run |\n|---|---|---|---|---|---|")
    for bar in bars:
        mark = {None: "", True: "held", False: "MISSED"}[bar.held]
        peers = ", ".join(f"{name} {number(value)}" for name, value in bar.peers.items() if value is not None)
        print(f"| {bar.name} | {bar.target} | {number(bar.tuned)} | {number(bar.fresh)} | {mark} | {peers} |")
