import json
import math
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.reporting.charts import figure
from anubis.reporting.charts.axes import ticks, value_axis
from anubis.reporting.charts.data import (
    BaselineMark,
    ChangeMark,
    ChartPoint,
    DistributionChart,
    HeatCell,
    HeatChart,
    IntervalChart,
    IntervalRow,
    LevelMark,
    SeriesChart,
    Side,
    Tone,
)
from anubis.reporting.charts.distribution import distribution_svg
from anubis.reporting.charts.heat import heat_svg
from anubis.reporting.charts.intervals import intervals_svg
from anubis.reporting.charts.series import series_svg
from anubis.reporting.charts.sparkline import sparkline
from anubis.reporting.charts.thinning import kept

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)
HOSTILE = ["</svg><script>alert(1)</script>", '"&<>\x00\x1b[31m', "x" * 100_000, "\u202eabc", "]]>", "\ud800"]
TEXTS = st.one_of(st.text(), st.sampled_from(HOSTILE))


def elements(image):
    """The parsed image, which has only elements and attributes of the list, and no number that is none."""
    root = ET.fromstring(image)
    found = list(root.iter())
    names = {each.tag.removeprefix("{http://www.w3.org/2000/svg}") for each in found}
    assert names <= {"svg", "title", "desc", "text", "path", "line", "rect", "g"}
    for each in found:
        assert set(each.attrib) <= {
            "class", "width", "height", "viewBox", "role", "aria-label", "x", "y", "d", "text-anchor"
        }  # fmt: skip
        for name in ("x", "y", "width", "height", "d"):
            assert not re.search("nan|inf|e[+-]", each.get(name, ""))
    return found


def points(values):
    return tuple(ChartPoint(x=float(at), value=value) for at, value in enumerate(values))


@settings(deadline=None)
@given(
    values=st.lists(st.one_of(st.none(), NUMBERS), max_size=60),
    title=TEXTS,
    label=TEXTS,
    units=st.one_of(st.sampled_from(["s", "bytes", "none", "img/s"]), TEXTS),
    repeats=st.lists(NUMBERS, max_size=3),
    level=NUMBERS,
    time_axis=st.booleans(),
)
def test_any_series_is_a_valid_image(values, title, label, units, repeats, level, time_axis):
    chart = SeriesChart(
        title=title,
        description=label,
        units=units,
        points=tuple(
            ChartPoint(x=at, value=value, label=label, disturbed=at % 3 == 0, repeats=tuple(repeats))
            for at, value in enumerate(values)
        ),
        levels=(LevelMark(start=0, end=5, value=level, low=-level, high=level),),
        changes=(ChangeMark(x=2, earliest=1, latest=3, tone=Tone.WORSE, text=label),),
        baselines=(BaselineMark(x=1, text=label),),
        time_axis=time_axis,
    )
    elements(series_svg(chart))
    page = figure.series_figure(chart)
    assert page.count("<script") == 1
    data = re.search("<script[^>]*>(.*)</script>", page, re.DOTALL)[1]
    read = json.loads(data, parse_constant=pytest.fail)
    assert len(read["x"]) == len(read["y"]) == len(values)


@settings(deadline=None)
@given(values=st.lists(st.one_of(st.none(), NUMBERS), min_size=1, max_size=500), most=st.integers(8, 60))
def test_thinned_values_keep_extremes_gaps_and_ends(values, most):
    places = kept(values, most)
    assert places == sorted(set(places))
    assert len(places) <= most
    finite = [value for value in values if value is not None and math.isfinite(value)]
    shown = [values[at] for at in places if values[at] is not None and math.isfinite(values[at])]
    if finite:
        assert (min(shown), max(shown)) == (min(finite), max(finite))
    is_missing = [value is None or not math.isfinite(value) for value in values]
    assert any(is_missing) == any(is_missing[at] for at in places)
    assert {0, len(values) - 1} <= set(places)


def test_a_single_outlier_of_a_long_series_is_drawn():
    values = [1.0] * 50_000
    values[31_337] = 9.0
    chart = SeriesChart(title="t", points=points(values))
    assert 31_337 in kept(values, 1440)
    assert len(series_svg(chart)) < 60_000


def test_missing_values_are_gaps_and_never_zero():
    image = series_svg(SeriesChart(title="t", points=points([5.0, 5.0, None, 5.0, 5.0])))
    (line,) = [each for each in elements(image) if each.get("class") == "line"]
    assert line.get("d").count("M") == 2
    assert len([each for each in elements(image) if each.get("class") == "dots"]) == 1
    labels = [float(each.text) for each in elements(image) if each.get("class") == "tick" and each.text]
    assert min(labels) > 4


def test_disturbed_points_are_hollow():
    chart = SeriesChart(
        title="t", points=(ChartPoint(x=0, value=1.0), ChartPoint(x=1, value=2.0, disturbed=True))
    )
    kinds = [each.get("class") for each in elements(series_svg(chart))]
    assert "rings" in kinds


@pytest.mark.parametrize(
    ("better", "words"),
    [("higher", "higher is better"), ("lower", "lower is better"), ("none", "no direction")],
)
def test_unit_and_direction_are_shown(better, words):
    chart = SeriesChart(title="wait", units="s", better=better, points=points([0.002, 0.003]))
    heading = next(each.text for each in elements(series_svg(chart)) if each.get("class") == "heading")
    assert heading == f"wait, ms ({words})"


def test_the_axis_is_logarithmic_where_ratios_matter():
    assert value_axis([1, 1000], 0, 100).log
    assert not value_axis([1, 2], 0, 100).log
    assert not value_axis([0, 1000], 0, 100).log
    axis = value_axis([1, 10_000], 0, 100)
    assert axis.at(10) - axis.at(1) == pytest.approx(axis.at(1000) - axis.at(100))


@settings(deadline=None)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20))
def test_labels_of_an_axis_ascend_inside_of_it(values):
    axis = value_axis(values, 0, 100)
    found = [value for value, _ in ticks(axis)]
    assert found == sorted(found)
    assert all(axis.low <= value <= axis.high for value in found)
    for value in values:
        assert 0 <= axis.at(value) <= 100


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(TEXTS, st.one_of(st.none(), NUMBERS), NUMBERS, NUMBERS), max_size=8),
    title=TEXTS,
)
def test_any_comparison_is_a_valid_image(rows, title):
    chart = IntervalChart(
        title=title,
        rows=tuple(
            IntervalRow(label=label, effect=effect, interval=(low, high), verdict=label)
            for label, effect, low, high in rows
        ),
    )
    elements(intervals_svg(chart))


def test_an_effect_has_a_word_a_sign_and_its_interval():
    row = IntervalRow(
        label="rate", effect=-0.044, interval=(-0.058, -0.031), tone=Tone.WORSE, verdict="worse"
    )
    image = intervals_svg(IntervalChart(title="A and B", rows=(row,)))
    assert "-4.4 % [-5.8, -3.1]  ▼ worse" in [" ".join(each.itertext()) for each in elements(image)] or (
        "-4.4 % [-5.8, -3.1] ▼ worse" in image
    )


def test_half_and_twice_are_equally_far_from_no_change():
    rows = (IntervalRow(label="a", effect=-0.5), IntervalRow(label="b", effect=1.0))
    image = intervals_svg(IntervalChart(title="t", rows=rows))
    at = [
        float(re.match("M([0-9.]+)", each.get("d"))[1]) + 3.5
        for each in elements(image)
        if each.get("class") == "rings"
    ]
    zero = float(
        next(each for each in elements(image) if each.get("class") == "axis").get("d")[1:].split()[0]
    )
    assert zero - at[0] == pytest.approx(at[1] - zero, abs=0.1)


@settings(deadline=None)
@given(sides=st.lists(st.tuples(TEXTS, st.lists(NUMBERS, max_size=20)), max_size=4), title=TEXTS)
def test_any_distribution_is_a_valid_image(sides, title):
    chart = DistributionChart(
        title=title, sides=tuple(Side(label=label, values=tuple(values)) for label, values in sides)
    )
    elements(distribution_svg(chart))


@settings(deadline=None)
@given(
    cells=st.lists(st.tuples(TEXTS, TEXTS, st.one_of(st.none(), NUMBERS), TEXTS), max_size=8),
    better=st.sampled_from(["higher", "lower", "none"]),
)
def test_any_matrix_is_a_valid_image(cells, better):
    chart = HeatChart(
        title="t",
        better=better,
        rows=tuple(row for row, *_ in cells),
        columns=tuple(column for _, column, *_ in cells),
        cells=tuple(HeatCell(row=r, column=c, value=value, failure=why) for r, c, value, why in cells),
    )
    elements(heat_svg(chart))


def test_the_best_cell_is_outlined_and_a_failed_one_hatched():
    cells = (
        HeatCell(row="1", column="a", value=3.0),
        HeatCell(row="1", column="b", value=7.0),
        HeatCell(row="2", column="a", failure="out_of_memory"),
    )
    chart = HeatChart(title="rate", better="higher", rows=("1", "2"), columns=("a", "b"), cells=cells)
    found = elements(heat_svg(chart))
    (best,) = [each for each in found if "best" in each.get("class", "").split()]
    assert best[0].text == "1, b: 7"
    assert [each.get("class") for each in found].count("hatching") == 1
    assert [each.get("class") for each in found].count("missing") == 1


@settings(deadline=None)
@given(values=st.lists(st.one_of(st.none(), NUMBERS), max_size=30), title=TEXTS)
def test_any_sparkline_is_a_valid_image(values, title):
    elements(sparkline(values, title=title))


def test_an_image_alone_contains_its_styles():
    image = figure.standalone(series_svg(SeriesChart(title="t", points=points([1.0, 2.0]))))
    assert ET.fromstring(image)[0].text.startswith("/* Charts")
