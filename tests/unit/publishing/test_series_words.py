from dataclasses import replace

from anubis.judging.series_overview import series_overviews
from anubis.model.alert import AlertState
from anubis.publishing.series_charts import chart_of, measured_together
from anubis.publishing.series_words import words_of
from anubis.reporting.charts.data import Tone
from anubis.reporting.charts.series import series_svg
from support.alerts import an_alert


def test_a_recent_change_is_the_verdict(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 12)
    (one,) = series_overviews(house.world)
    words = words_of(one)
    assert (words.word, words.tone) == ("worse", Tone.WORSE)
    assert " at v31: " in words.sentence
    assert words.sentence.endswith("img/s, 12 points ago")


def test_an_old_change_is_not(house, bench):
    bench.add(*[100.0] * 20, *[90.0] * 60)
    (one,) = series_overviews(house.world)
    assert words_of(one).word == "stable"
    assert words_of(one).sentence.startswith("at 9")


def test_lower_may_be_better(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 12, better="lower")
    (one,) = series_overviews(house.world)
    assert words_of(one).tone is Tone.BETTER


def test_a_short_series_is_new(house, bench):
    bench.add(100.0, 100.0)
    (one,) = series_overviews(house.world)
    assert words_of(one).word == "new"


def test_changing_without_a_new_subject_is_unstable(house, bench):
    bench.add(*[100.0] * 30, *[80.0] * 20, subject="same")
    (one,) = series_overviews(house.world)
    assert words_of(one).word == "unstable"


def test_a_chart_has_levels_changes_and_baselines(house, bench):
    bench.add(*[100.0] * 30)
    first = bench.add(90.0)
    bench.add(*[90.0] * 11)
    (one,) = series_overviews(house.world)
    point = one.points[0]
    row = replace(
        an_alert().rows[0], series_key=point.series_key, fingerprint=point.fingerprint, metric="throughput"
    )
    alert = replace(an_alert(), rows=(row,), run_id=first.id, state=AlertState.ACCEPTED, why="intended")
    chart = chart_of(one, alerts=[alert])
    assert [round(level.value, -1) for level in chart.levels] == [100, 90]
    assert all(level.low < level.value < level.high for level in chart.levels)
    (mark,) = chart.changes
    assert (mark.tone, mark.x) == (Tone.WORSE, chart.levels[1].start)
    assert [(each.x, each.text) for each in chart.baselines] == [(30.0, "accepted baseline: intended")]
    assert "accepted baseline: intended" in series_svg(chart)


def test_a_run_without_a_value_of_the_metric_is_a_gap(house, bench):
    bench.add(1.0, 1.0, metrics=("a", "b"))
    bench.add(1.0, metrics=("b",))
    bench.add(1.0, metrics=("a", "b"))
    a, b = series_overviews(house.world)
    together = measured_together(a, [a, b])
    assert [point.value is None for point in chart_of(a, measured=together).points] == [
        False,
        False,
        True,
        False,
    ]
    assert all(point.value is not None for point in chart_of(b, measured=together).points)
