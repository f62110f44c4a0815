"""What charts show, as plain data: the same for SVG, interactive charts, and tables.

Values are in the metric's unit. A missing value is None and drawn as a gap; it is never zero.
"""

from dataclasses import dataclass
from enum import StrEnum


class Tone(StrEnum):
    """How a value or change is coloured. Each tone also has a sign or a word, because colour alone is not enough."""

    BETTER = "better"
    WORSE = "worse"
    #: A change of a metric without direction.
    CHANGED = "changed"
    NEUTRAL = "neutral"
    #: Not decided, suspected or unstable.
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPoint:
    """One position of a series."""

    #: UTC seconds on a time axis, else any number that increases.
    x: float
    #: None: nothing was measured here.
    value: float | None
    #: Subject (commit or version), for the axis.
    label: str = ""
    #: The machine was disturbed; drawn hollow.
    disturbed: bool = False
    #: Values of the repeats, drawn as small dots.
    repeats: tuple[float, ...] = ()
    #: Id of the run; empty: unknown.
    run: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMark:
    """A level between two positions, with its robust band: where most single points of this level lie."""

    start: float
    end: float
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeMark:
    """A change of level, with the range of its possible positions."""

    x: float
    earliest: float
    latest: float
    tone: Tone
    #: Short text beside the mark: ``-4.4 %``.
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineMark:
    """The position from which a level was accepted as the baseline."""

    x: float
    text: str = "accepted baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesChart:
    """One metric over time or commits."""

    title: str
    #: The verdict as a sentence: what a reader who cannot see the chart must know.
    description: str = ""
    units: str = "none"
    #: "higher", "lower" or "none".
    better: str = "none"
    #: By ascending x.
    points: tuple[ChartPoint, ...] = ()
    levels: tuple[LevelMark, ...] = ()
    changes: tuple[ChangeMark, ...] = ()
    baselines: tuple[BaselineMark, ...] = ()
    #: Whether x is a time.
    time_axis: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalRow:
    """The effect on one metric, as a ratio: -0.044 is 4.4 % lower."""

    label: str
    #: None: it is not known.
    effect: float | None
    interval: tuple[float, ...] | None = None
    tone: Tone = Tone.NEUTRAL
    #: The verdict as a word.
    verdict: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalChart:
    """Effects with their intervals on one axis of ratios."""

    title: str
    description: str = ""
    rows: tuple[IntervalRow, ...] = ()
    #: Smallest effect that counts, as a ratio.
    min_effect: float = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The values of one side of a comparison, or of one group of runs."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistributionChart:
    """Every value of each side as a dot, over its quartiles and median."""

    title: str
    description: str = ""
    units: str = "none"
    better: str = "none"
    sides: tuple[Side, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """A cell of a matrix."""

    row: str
    column: str
    #: None: it has none.
    value: float | None = None
    #: Why it failed; empty: it did not.
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatChart:
    """One metric over two axes."""

    title: str
    description: str = ""
    units: str = "none"
    better: str = "none"
    #: Names of the axes, and their values in order.
    row_axis: str = ""
    column_axis: str = ""
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    cells: tuple[HeatCell, ...] = ()
