"""The bars as a Markdown table."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Bar:
    name: str
    target: str
    tuned: float | None
    fresh: float | None = None
    #: None: a figure without a target.
    met: bool | None = None
    peers: dict[str, float] = field(default_factory=dict)

    @property
    def held(self) -> bool:
        return self.met is not False


def number(value: float | None) -> str:
    if value is None:
        return ""
    if abs(value) >= 10**5:
        return "never"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def show(bars: list[Bar]) -> None:
    print("| bar | target | tuned seed | fresh seed | | peers in this run |\n|---|---|---|---|---|---|")
    for bar in bars:
        mark = {None: "", True: "held", False: "MISSED"}[bar.met]
        peers = ", ".join(f"{name} {number(value)}" for name, value in bar.peers.items())
        print(f"| {bar.name} | {bar.target} | {number(bar.tuned)} | {number(bar.fresh)} | {mark} | {peers} |")
