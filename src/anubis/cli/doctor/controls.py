"""``anubis doctor --control``: how often this machine finds a change between equal code."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.cli import terminal
from anubis.cli.select.gate_sides import Asked, sides_of
from anubis.cli.views import tables, units
from anubis.model.errors import BadInputError
from anubis.model.verdict import FalseRate
from anubis.reporting.gate_report import Report, controls_text, title

if TYPE_CHECKING:
    from anubis.client import Client

#: Controls, unless the user gives another number: 4 false ones of 20 are significantly more than are published.
CONTROLS = 20
REMEDY = (
    "help: correct what the checks above report, stop other programs, use more --rounds and an even number of them, or"
    " raise min_effect above the changes that the controls show; then measure the controls again"
)


@dataclass(frozen=True, slots=True)
class Controls:
    """The result of some controls."""

    reports: tuple[Report, ...]

    @property
    def failed(self) -> bool:
        """Whether a benchmark failed in one of them."""
        return any(entry.failure for report in self.reports for entry in report.comparisons)

    @property
    def rate(self) -> FalseRate | None:
        """That of all stored controls of this machine; None: none was successful."""
        return self.reports[-1].controls


def measured(client: "Client", file: Path, *, count: int, rounds: int | None) -> Controls:
    """Measure this many controls and show the verdict of each. Raises BadInputError for a file that cannot be read."""
    if not file.is_file():
        raise BadInputError(f"{file} is not a file", remedy="name a descriptor file")
    asked = Asked(
        what=(str(file),),
        rounds=rounds,
        overrides={},
        script=None,
        baseline=None,
        subject="",
        labels={},
        control=True,
    )
    reports = []
    for number in range(1, count + 1):
        report = client.gate.judge(sides_of(client, asked))
        terminal.note(f"control {number} of {count}: {title(report)}")
        reports.append(report)
    return Controls(tuple(reports))


def lines(found: Controls) -> Iterator[str]:
    """The rate of this machine, and what to do if it is too high."""
    width = terminal.width()
    false = sum(report.has_changes for report in found.reports)
    yield f"{units.counted(len(found.reports), 'control')} measured, {false} false."
    if found.rate is None:
        return
    yield from tables.folded(controls_text(found.rate), width)
    if found.rate.is_above:
        yield from tables.folded(REMEDY, width)
