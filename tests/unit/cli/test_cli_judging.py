import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.analysis.samples.compare import compare_many
from anubis.cli import exit_codes
from anubis.cli.views import comparison_view
from anubis.model.verdict import Sides
from anubis.testing.builders import a_point, a_run

OLD, NEW = [a_run() for _ in range(6)], [a_run() for _ in range(6)]


def found(**ratios):
    """A comparison of metrics whose contender is so many times the baseline."""
    sides = [
        Sides(
            metric=metric,
            baseline=tuple(100 + at for at in range(6)),
            contender=tuple(ratio * (100 + at) for at in range(6)),
            better="higher",
        )
        for metric, ratio in ratios.items()
    ]
    return comparison_view.Judged([], [], [], [], compare_many(sides))


@pytest.mark.parametrize(
    ("ratios", "code"),
    [
        ({"same": 1.0}, exit_codes.UNDECIDED),
        ({"better": 1.5}, exit_codes.OK),
        ({"worse": 0.5}, exit_codes.REGRESSION),
        ({"better": 1.5, "worse": 0.5}, exit_codes.REGRESSION),
        ({"same": 1.0, "worse": 0.5}, exit_codes.REGRESSION),
    ],
)
def test_the_exit_code_is_that_of_the_worst_metric(ratios, code):
    assert comparison_view.exit_code([found(**ratios)]) == code


def test_nothing_compared_is_fine():
    assert comparison_view.exit_code([]) == exit_codes.OK


@given(
    st.lists(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30), min_size=1)
)
def test_a_line_is_broken_between_its_parts_and_loses_none(parts):
    lines = comparison_view.in_parts("  ".join(parts), 60)
    assert all(len(line) <= 60 for line in lines)
    assert "  ".join(line.strip() for line in lines).split("  ") == parts
    assert comparison_view.in_parts("  ".join(parts), None) == ["  ".join(parts)]


def test_a_verdict_comes_with_what_to_do_next(capsys):
    comparison_view.show(found(worse=0.5, better=2.0), plot=False)
    told = click.unstyle(capsys.readouterr().out)
    assert "REGRESSION" in told
    assert "Look at what changed" in told
    assert "geometric mean of 2 metrics (up is better)" in told


def test_runs_of_different_machines_and_disturbed_ones_are_told(capsys):
    old = [a_point(run, fingerprint="one") for run in OLD]
    new = [a_point(run, fingerprint="two", contaminated=True) for run in NEW]
    comparison_view.show(comparison_view.Judged([], [], old, new, found(better=2.0).comparison), plot=False)
    told = capsys.readouterr().err
    assert "different machines" in told
    assert "disturbed during 6 of the runs" in told


def test_unlike_metrics_have_no_mean_unless_it_is_asked_for(capsys):
    sides = [
        Sides(metric=metric, baseline=(1.0, 1.1, 1.2), contender=(2.0, 2.1, 2.2), units=units, better=better)
        for metric, units, better in (("time", "s", "lower"), ("rate", "1/s", "higher"))
    ]
    unlike = comparison_view.Judged([], [], [], [], compare_many(sides))
    comparison_view.show(unlike, plot=False)
    assert "geometric mean of" not in capsys.readouterr().out
    comparison_view.show(unlike, plot=False, mean=True)
    assert "geometric mean of 2 metrics" in capsys.readouterr().out
