"""Series: a table, and a chart with the changes of one series."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from anubis.analysis.instability_text import instability_remedy, instability_text
from anubis.analysis.quantities import effect_between, effect_text, levels_text
from anubis.cli import terminal
from anubis.cli.views import tables, units
from anubis.cli.views.chart import chart
from anubis.judging.series import subject_range
from anubis.model.series import ChangePoint
from anubis.reporting.alert_text import ESTIMATOR
from anubis.reporting.markup import one_line, short_subject

if TYPE_CHECKING:
    from anubis.judging.series_overview import SeriesOverview

COLUMNS = (
    tables.Column(title="BENCHMARK", cut=True),
    tables.Column(title="SERIES"),
    tables.Column(title="MACHINE"),
    tables.Column(title="METRIC", cut=True),
    tables.Column(title="N", right=True),
    tables.Column(title="LEVEL", right=True),
    tables.Column(title="NOISE", right=True),
    tables.Column(title="DETECTS", right=True),
    tables.Column(title="LAST CHANGE", cut=True),
    tables.Column(title="STATE"),
)
_CHANGES = (
    tables.Column(title="LAST OLD", cut=True),
    tables.Column(title="FIRST NEW", cut=True),
    tables.Column(title="95 % RANGE", cut=True),
    tables.Column(title="LEVELS"),
    tables.Column(title="EFFECT"),
    tables.Column(title="Z", right=True),
    tables.Column(title="N", right=True),
    tables.Column(title="WHAT"),
)
_STATE_COLOURS = {"stable": "green", "suspected": "yellow", "unstable": "red", "new": "cyan"}
_COLOURS = {"regressed": "red", "improved": "green", "changed": "yellow"}


def rows(overviews: "Sequence[SeriesOverview]") -> Iterator[Sequence[tables.Cell]]:
    """A line for each series. Series key and machine are shown only if there are several."""
    keys = Counter((one.benchmark, key) for one in overviews for key in {one.points[-1].series_key})
    several_keys = Counter(benchmark for benchmark, _ in keys)
    machines = {one.points[-1].fingerprint for one in overviews}
    for one in overviews:
        point, verdict = one.points[-1], one.verdict
        yield [
            one_line(one.benchmark, 60),
            point.series_key[:8] if several_keys[one.benchmark] > 1 else "",
            point.fingerprint[:8] if len(machines) > 1 else "",
            one_line(point.metric, 60),
            f"{verdict.n}+" if one.earlier else str(verdict.n),
            "" if verdict.level is None else units.with_unit(verdict.level, point.units),
            "" if verdict.noise_floor is None else units.share(verdict.noise_floor),
            "" if verdict.detectable is None else units.share(verdict.detectable),
            _last_change(one),
            tables.Styled(one.state.value, _STATE_COLOURS[one.state.value]),
        ]


def _last_change(one: "SeriesOverview") -> str:
    if not one.verdict.changes:
        return ""
    change = one.verdict.changes[-1]
    at = short_subject(one.points[change.index].subject)
    return f"{effect_text(change.effect, change.interval)}{f' at {at}' if at else ''}"


def picture(one: "SeriesOverview") -> Iterator[str]:
    """The chart of a series, its properties, and its changes of level."""
    point, verdict = one.points[-1], one.verdict
    changes = [change.index for change in verdict.changes]
    yield terminal.style(f"{one_line(one.benchmark)}  {one_line(point.metric)}", bold=True)
    modes = [mode.level for mode in verdict.instability.modes] if verdict.instability else []
    values = [each.value for each in one.points]
    yield from chart(values, changes, unit=point.units, width=terminal.width() or 80, modes=modes)
    first, last = short_subject(one.points[0].subject), short_subject(point.subject)
    about = [
        ("points", f"{verdict.n}{f', {first} to {last}' if first and last else ''}"),
        ("level", "" if verdict.level is None else units.with_unit(verdict.level, point.units)),
        ("noise", _noise(one)),
        ("detects", _detects(one)),
        ("state", _state(one)),
        ("machine", point.fingerprint[:8]),
    ]
    yield from tables.pairs(about)
    if verdict.instability is not None:
        yield from tables.folded(f"To do: {instability_remedy(verdict.instability)}", terminal.width())
    shifts = [*verdict.changes, *([verdict.suspected] if verdict.suspected else [])]
    if shifts:
        yield ""
        yield from tables.lines(_CHANGES, [_change(one, each) for each in shifts], width=terminal.width())


def _state(one: "SeriesOverview") -> str:
    if (found := one.verdict.instability) is None:
        return one.state.value
    return f"{one.state.value}: {instability_text(found, one.points[-1].units)}"


def _noise(one: "SeriesOverview") -> str:
    if one.verdict.noise_floor is None:
        return ""
    text = f"{units.share(one.verdict.noise_floor)} (one standard deviation"
    if one.noise_between is not None and one.noise_within is not None:
        text += f": {units.share(one.noise_between)} between sessions, {units.share(one.noise_within)} within"
    return f"{text})"


def _detects(one: "SeriesOverview") -> str:
    if one.verdict.detectable is None:
        return ""
    return f"{units.share(one.verdict.detectable)} with ten more points and 80 % power"


def _change(one: "SeriesOverview", change: ChangePoint) -> Sequence[tables.Cell]:
    subjects = subject_range(one.points, change)
    wide = [short_subject(subject) for subject in (subjects.earliest_old, subjects.latest_new) if subject]
    unit = one.points[-1].units
    what = "suspected" if change.state.value == "suspected" else change.judgement.value
    return [
        short_subject(subjects.last_old),
        short_subject(subjects.first_new),
        " .. ".join(wide),
        levels_text(change.before, change.after, unit),
        effect_between(change.before, change.after, change.effect, change.interval, ESTIMATOR),
        f"{change.z:.1f}",
        f"{change.n_before}+{change.n_after}",
        tables.Styled(f"{what} ({change.kind.value})", _COLOURS.get(what, "cyan")),
    ]
