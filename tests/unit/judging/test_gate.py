"""Contenders against the level before them: which points count, and what is said when there are none."""

from dataclasses import replace

import numpy as np
import pytest

from anubis.analysis.samples.compare import compare
from anubis.judging.gate import GateSides, compare_sides
from anubis.model.alert import AlertState
from anubis.model.cause import Cause
from anubis.model.descriptor import Info, Subject
from anubis.model.metric import Better, Metric, Output, Threshold
from anubis.model.points import Period
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.model.verdict import Estimator, Judgement
from anubis.testing import a_descriptor, a_point, a_run
from support.alerts import a_row, an_alert

METRICS = (Metric(name="throughput", better=Better.HIGHER), Metric(name="loss", better=Better.LOWER))


@pytest.fixture
def bench(house):
    """Stores finished runs of one benchmark, commit after commit."""

    class Bench:
        random = np.random.default_rng(11)
        at = 0
        descriptor = replace(a_descriptor("bench"), output=Output(metrics=METRICS))

        def run(
            self, level=100.0, *, subject=None, order_s=None, machine="m", only=None, start_s=None, **changes
        ):
            """One run; by default with a different subject, all metrics and no session (which begins at ``start_s``)."""
            self.at += 1
            descriptor = changes.pop("descriptor", self.descriptor)
            subject = subject or f"commit-{self.at:03}"
            order_s = float(self.at) if order_s is None else order_s
            cause = changes.pop("cause", None)
            run = a_run(
                replace(descriptor, subject=Subject(version=subject)),
                status=Status.ANALYSE,
                order_s=order_s,
                created_s=house.clock.now_s(),
                **changes,
            )
            house.runs.add([(run, "text")], [])
            points = [
                a_point(
                    run,
                    metric.name,
                    level * float(np.exp(0.005 * self.random.standard_normal())),
                    order_s=order_s,
                    subject=subject,
                    better=str(metric.better),
                    fingerprint=machine,
                    units="u",
                )
                for metric in descriptor.output.metrics
                if only in (None, metric.name)
            ]
            (claimed,) = house.leases.claim("t", now_s=house.clock.now_s(), lease_s=9.0, limit=1)
            status = Status.FAILED if cause else Status.SUCCEEDED
            step = Step(
                status=status,
                cause=cause,
                reason="why" if cause else "",
                points=() if cause else tuple(points),
                period=None
                if start_s is None
                else Period(machine=machine, start_s=start_s, end_s=start_s + 1),
            )
            return house.leases.apply("t", claimed, step, now_s=house.clock.now_s())

        def history(self, *levels, **changes):
            return [self.run(level, **changes) for level in levels]

        def check(self, *runs, **changes):
            limits = {
                "min_effect": changes.pop("min_effect", None),
                "metrics": changes.pop("metrics", ()),
            }
            return compare_sides([GateSides(contender=runs, **changes)], house.world, **limits)

    return Bench()


def judgements(report):
    return {
        verdict.metric: verdict.judgement
        for weighing in report.comparisons
        if weighing.comparison
        for verdict in weighing.comparison.verdicts
    }


def only(report):
    (weighing,) = report.comparisons
    return weighing


def test_a_single_run_is_judged_by_the_noise_of_its_history(bench):
    bench.history(*[100.0] * 12)
    worse = only(bench.check(bench.run(90.0)))
    verdicts = {verdict.metric: verdict for verdict in worse.comparison.verdicts}
    assert verdicts["throughput"].judgement is Judgement.REGRESSED
    assert verdicts["loss"].judgement is Judgement.IMPROVED
    assert (verdicts["throughput"].n_baseline, verdicts["throughput"].n_contender) == (12, 1)
    assert verdicts["throughput"].noise_floor == pytest.approx(0.005, rel=1)
    assert (worse.baseline, worse.contender) == ("commit-012", "commit-013")


def test_the_baseline_is_the_current_level(bench):
    bench.history(*[200.0] * 12, *[100.0] * 12)
    verdict = only(bench.check(bench.run(100.0))).comparison.verdicts[0]
    assert verdict.judgement is Judgement.UNCHANGED
    assert verdict.n_baseline == 12, "the level before does not count"


def test_twenty_points_are_enough(bench):
    bench.history(*[100.0] * 35)
    assert only(bench.check(bench.run(100.0))).comparison.verdicts[0].n_baseline == 20


def test_runs_of_the_contenders_subject_are_no_baseline(bench):
    bench.history(*[100.0] * 8)
    bench.history(*[90.0] * 4, subject="new")
    report = bench.check(bench.run(90.0, subject="new"))
    assert only(report).comparison.verdicts[0].n_baseline == 8
    assert judgements(report)["throughput"] is Judgement.REGRESSED


def test_what_came_later_is_no_baseline(bench):
    bench.history(*[100.0] * 8)
    old = bench.run(100.0, subject="old")
    bench.history(*[50.0] * 12)
    weighing = only(bench.check(old))
    assert weighing.comparison.verdicts[0].judgement is Judgement.UNCHANGED
    assert weighing.comparison.verdicts[0].n_baseline == 8


def test_machines_are_kept_apart(bench):
    bench.history(*[100.0] * 8, machine="slow")
    report = bench.check(bench.run(200.0, machine="fast"))
    assert only(report).comparison is None
    assert "other machines are not compared" in only(report).note
    assert report.is_undecided


def test_a_contender_on_two_machines_is_two_weighings(bench):
    for machine in ("one", "two"):
        bench.history(*[100.0] * 8, machine=machine)
    runs = [
        bench.run(level, subject="new", machine=machine) for machine, level in (("one", 100.0), ("two", 50.0))
    ]
    report = bench.check(*runs)
    assert [weighing.benchmark for weighing in report.comparisons] == [
        "bench (machine one)",
        "bench (machine two)",
    ]
    assert report.is_bad


def test_the_first_runs_of_a_benchmark_say_so(bench):
    report = bench.check(bench.run())
    assert "this is the first measurement" in only(report).note
    assert report.is_undecided, "a gate that compared nothing has decided nothing"


def test_a_new_metric_does_not_spoil_the_others(bench):
    bench.history(*[100.0] * 8)
    more = replace(bench.descriptor, output=Output(metrics=(*METRICS, Metric(name="new"))))
    report = bench.check(bench.run(100.0, descriptor=more))
    assert set(judgements(report)) == {"throughput", "loss"}
    assert only(report).note == "new has no earlier values: this is the first measurement"
    assert not report.is_bad
    assert not report.is_undecided


def test_failed_runs_are_failures_and_no_evidence(bench):
    bench.history(*[100.0] * 8)
    good = bench.history(*[100.0] * 3, subject="new")
    report = bench.check(*good, bench.run(cause=Cause.TIMEOUT, subject="new"))
    failed, compared = report.comparisons
    assert "timeout: why" in failed.failure
    assert compared.comparison.verdicts[0].n_contender == 3
    assert report.is_bad


def test_a_family_may_hold_several_benchmarks(bench):
    others = [
        a_descriptor("bench", command=f"other {number}", output=bench.descriptor.output) for number in (1, 2)
    ]
    for other in others:
        bench.history(*[100.0] * 8, descriptor=other)
    runs = [bench.run(100.0, descriptor=other, subject="new") for other in others]
    assert len(bench.check(*runs).comparisons) == 2


def test_named_runs_are_the_baseline(bench):
    old = bench.history(*[100.0] * 6)
    bench.history(*[50.0] * 6)
    new = bench.history(*[90.0] * 6, subject="new")
    weighing = only(bench.check(*new, baseline=old))
    assert weighing.baseline == "commit-006"
    assert weighing.comparison.verdicts[0].effect == pytest.approx(-0.1, abs=0.02)


def test_a_named_baseline_of_one_run_takes_its_noise_from_history(bench):
    *_, old = bench.history(*[100.0] * 8)
    verdict = only(bench.check(bench.run(90.0), baseline=[old])).comparison.verdicts[0]
    assert verdict.judgement is Judgement.IMPROVED
    assert verdict.n_baseline == 1


def test_a_named_baseline_of_one_run_needs_no_history(bench):
    old = bench.run(100.0, descriptor=labelled(bench, "main"))
    report = bench.check(bench.run(90.0, descriptor=labelled(bench, "topic")), baseline=[old])
    assert set(judgements(report).values()) == {Judgement.UNDECIDED}


def test_four_runs_a_side_are_compared_without_the_history(bench, house):
    """The history has a zero, for which there is no ratio; the values of both sides have ratios."""
    bench.history(*[100.0] * 8, 0.0, *[100.0] * 3)
    old = bench.history(*[100.0] * 4, subject="old", order_s=90.0)
    new = bench.history(*[80.0, 70.0, 80.0, 90.0], subject="new", order_s=91.0)
    for verdict in only(bench.check(*new, baseline=old)).comparison.verdicts:
        points = house.points.of([run.id for run in (*old, *new)])
        values = [point.value for point in points if point.metric == verdict.metric]
        assert verdict.effect == compare(verdict.metric, values[:4], values[4:]).effect


def test_a_failed_baseline_is_told(bench):
    bench.history(*[100.0] * 8)
    report = bench.check(bench.run(), baseline=[bench.run(cause=Cause.OUT_OF_MEMORY)])
    assert "baseline runs without success" in report.comparisons[0].failure


def labelled(bench, branch, **changes):
    return replace(bench.descriptor, info=Info(name="bench", labels={"branch": branch}), **changes)


def test_series_that_differ_in_labels_alone_are_compared_when_named(bench):
    old = bench.history(*[100.0] * 6, descriptor=labelled(bench, "main"))
    new = bench.history(*[90.0] * 6, descriptor=labelled(bench, "topic"), subject="new")
    assert judgements(bench.check(*new, baseline=old))["throughput"] is Judgement.REGRESSED
    assert only(bench.check(*new)).comparison is None, "unnamed, they are two histories"


def test_the_only_benchmark_of_a_name_is_compared_when_named(bench):
    old = bench.history(*[100.0] * 6)
    changed = a_descriptor("bench", command="faster", output=bench.descriptor.output)
    new = bench.history(*[120.0] * 6, descriptor=changed, subject="new")
    assert judgements(bench.check(*new, baseline=old))["throughput"] is Judgement.IMPROVED
    twice = [
        *old,
        *bench.history(100.0, descriptor=labelled(bench, "other", ml=replace(changed.ml, args="x"))),
    ]
    assert (
        only(bench.check(*new, baseline=twice)).note
        == "2 metrics have no value in the baseline on this machine"
    )


def test_the_smallest_effect_is_that_of_the_descriptor(bench):
    bench.history(*[100.0] * 12)
    tolerant = Output(metrics=(replace(METRICS[0], threshold=Threshold(min_effect=0.2)),))
    run = bench.run(90.0, descriptor=replace(bench.descriptor, output=tolerant))
    assert judgements(bench.check(run)) == {"throughput": Judgement.UNCHANGED}
    assert judgements(bench.check(run, min_effect=0.02)) == {"throughput": Judgement.REGRESSED}


def accepted(bench, run, house):
    rows = tuple(
        a_row(metric=metric.name, series_key=run.series_key, fingerprint="m")
        for metric in bench.descriptor.output.metrics
    )
    house.store.alerts.put(
        [
            an_alert(
                state=AlertState.ACCEPTED, rows=rows, run_id=run.id, first_new=run.descriptor.subject.version
            )
        ],
        [],
    )


def test_an_accepted_level_is_the_baseline(bench, house):
    bench.history(*[100.0] * 12)
    first = bench.run(90.0, subject="meant")
    again = bench.run(90.0)
    assert judgements(bench.check(again))["throughput"] is Judgement.REGRESSED
    accepted(bench, first, house)
    assert only(bench.check(again)).comparison.verdicts[0].n_baseline == 1


def test_runs_of_the_accepted_subject_itself_are_compared_with_its_earlier_ones(bench, house):
    bench.history(*[100.0] * 12)
    earlier = bench.history(*[90.0] * 6, subject="meant", order_s=50.0)
    accepted(bench, earlier[0], house)
    now = bench.history(*[90.0] * 6, subject="meant", order_s=50.0)
    verdict = only(bench.check(*now)).comparison.verdicts[0]
    assert (verdict.judgement, verdict.n_baseline) == (Judgement.UNCHANGED, 6)


def test_what_came_after_a_contender_is_no_baseline_of_an_accepted_level_either(bench, house):
    bench.history(*[100.0] * 12)
    first = bench.run(90.0, subject="meant")
    accepted(bench, first, house)
    contender = bench.run(90.0)
    bench.history(*[80.0] * 3)
    assert only(bench.check(contender)).comparison.verdicts[0].n_baseline == 1


def test_other_runs_of_the_contenders_subject_are_no_baseline_of_an_accepted_level(bench, house):
    bench.history(*[100.0] * 12)
    first = bench.run(90.0, subject="meant")
    accepted(bench, first, house)
    bench.history(*[90.0] * 3, subject="new", order_s=50.0)
    contender = bench.run(90.0, subject="new", order_s=50.0)
    assert only(bench.check(contender)).comparison.verdicts[0].n_baseline == 1


def test_values_that_are_no_numbers_are_left_out(bench, house):
    bench.history(*[100.0] * 8)
    run = bench.run(float("nan"))
    assert bench.check(run).comparisons == ()


def test_all_metrics_of_a_gate_are_adjusted_together(bench):
    others = [a_descriptor(f"bench-{number}", output=bench.descriptor.output) for number in range(10)]
    for other in others:
        bench.history(*[100.0] * 8, descriptor=other)
    runs = [bench.run(100.0, descriptor=other, subject="new") for other in others]
    report = bench.check(*runs)
    for weighing in report.comparisons:
        for verdict in weighing.comparison.verdicts:
            assert verdict.adjusted_p >= verdict.p
    assert not report.is_bad


def bounded(bench, **bounds):
    metric = replace(METRICS[0], threshold=Threshold(**bounds))
    return replace(bench.descriptor, output=Output(metrics=(metric, METRICS[1])))


@pytest.mark.parametrize(
    ("bounds", "level", "bound"),
    [
        ({"min": 95.0}, 90.0, "min"),
        ({"max": 105.0}, 110.0, "max"),
        ({"change": 0.05}, 90.0, "change"),
        ({"sigma": 5.0}, 90.0, "sigma"),
        ({"min": 85.0, "max": 105.0, "change": 0.15, "sigma": 50.0}, 90.0, None),
    ],
)
def test_bounds_are_checked_against_the_median_of_the_contender(bench, bounds, level, bound):
    bench.history(*[100.0] * 8)
    descriptor = bounded(bench, **bounds)
    runs = [bench.run(each, subject="new", descriptor=descriptor) for each in (level, level, 100.0)]
    report = bench.check(*runs, min_effect=0.5)
    assert [each.bound for each in only(report).crossed] == ([] if bound is None else [bound])
    assert report.is_bad == (bound is not None)
    assert report.has_changes == (bound is not None)


def test_one_run_beyond_a_bound_among_several_does_not_cross_it(bench):
    descriptor = bounded(bench, min=95.0)
    runs = [bench.run(each, subject="new", descriptor=descriptor) for each in (10.0, 100.0, 100.0)]
    assert only(bench.check(*runs)).crossed == ()


def test_absolute_bounds_need_no_baseline_and_relative_ones_are_not_checked_without(bench):
    report = bench.check(bench.run(90.0, descriptor=bounded(bench, min=95.0, change=0.01, sigma=1.0)))
    assert [each.bound for each in only(report).crossed] == ["min"]
    assert "first measurement" in only(report).note


def test_sigma_without_a_known_noise_is_mentioned(bench):
    bench.history(*[100.0] * 5)
    descriptor = bounded(bench, sigma=1.0)
    entry = only(bench.check(bench.run(50.0, descriptor=descriptor)))
    assert entry.crossed == ()
    assert entry.note == "sigma of throughput was not checked: it needs at least 6 earlier values"
    bench.history(*[100.0] * 2)
    entry = only(bench.check(bench.run(50.0, descriptor=descriptor)))
    assert [each.bound for each in entry.crossed] == ["sigma"]
    assert entry.note == ""


def test_the_noise_of_sigma_comes_from_the_history_beside_a_given_baseline(bench):
    *_, old = bench.history(*[100.0] * 8)
    entry = only(bench.check(bench.run(90.0, descriptor=bounded(bench, sigma=5.0)), baseline=[old]))
    assert [each.bound for each in entry.crossed] == ["sigma"]


def test_a_bound_of_a_metric_that_was_not_measured_is_not_checked(bench):
    bench.history(*[100.0] * 8)
    run = bench.run(100.0)
    more = (*METRICS, Metric(name="absent", threshold=Threshold(min=1.0)))
    changed = replace(run, descriptor=replace(run.descriptor, output=Output(metrics=more)))
    assert only(bench.check(changed)).crossed == ()


def test_few_runs_without_a_history_of_their_own_are_compared_without_a_test(bench):
    """A named baseline of another series gives no noise to a first measurement."""
    old = bench.run(100.0, descriptor=labelled(bench, "main"))
    new = bench.run(50.0, descriptor=labelled(bench, "topic"), subject="new")
    verdict = only(bench.check(new, baseline=[old])).comparison.verdicts[0]
    assert (verdict.judgement, verdict.interval) == (Judgement.UNDECIDED, None)
    assert verdict.effect == pytest.approx(-0.5, abs=0.02)


def test_the_history_has_no_part_in_a_comparison_of_enough_runs(bench):
    """A zero in the history must not change the scale on which the runs are compared."""
    bench.history(*[0.0] * 8)
    old = bench.history(*[100.0] * 3, subject="old")
    new = bench.history(*[200.0] * 3, subject="new")
    verdict = only(bench.check(*new, baseline=old)).comparison.verdicts[0]
    assert verdict.estimator is Estimator.GEOMETRIC_MEANS


def test_disturbed_runs_of_both_sides_are_counted(bench, house):
    descriptor = replace(bench.descriptor, output=Output(metrics=METRICS[:1]))
    runs = []
    for at in range(9):
        run = a_run(
            replace(descriptor, subject=Subject(version=f"v{at}")), status=Status.SUCCEEDED, order_s=float(at)
        )
        point = a_point(
            run,
            "throughput",
            100.0 + at % 2,
            order_s=float(at),
            subject=f"v{at}",
            contaminated=at in {1, 2, 8},
        )
        house.runs.add_finished([(run, "")], [point])
        runs.append(run)
    entry = only(bench.check(runs[8]))
    assert (entry.disturbed_baseline, entry.disturbed_contender) == (2, 1)
    entry = only(bench.check(runs[7], baseline=[runs[1], runs[3]]))
    assert (entry.disturbed_baseline, entry.disturbed_contender) == (1, 0)


def test_a_failure_names_the_subject_of_its_runs(bench):
    failed = bench.run(cause=Cause.TIMEOUT, subject="v2")
    assert only(bench.check(failed)).contender == "v2"
    of_commit = replace(failed, descriptor=replace(failed.descriptor, subject=Subject(commit="c0ffee")))
    assert only(bench.check(of_commit)).contender == "c0ffee"


def test_a_value_of_a_known_mode_of_an_unstable_history_is_no_change(bench):
    bench.history(*([100.0] * 15 + [90.0] * 15) * 4, *[100.0] * 12)
    report = bench.check(bench.run(90.0), metrics=("throughput",))

    [entry] = report.comparisons
    [verdict] = entry.comparison.verdicts
    assert verdict.judgement not in {Judgement.REGRESSED, Judgement.CHANGED}
    assert "the history of throughput is unstable: alternates between 9" in entry.note
    assert "compared with its newest 132 values, without regard to levels" in entry.note


def test_a_value_outside_all_modes_of_an_unstable_history_is_a_change(bench):
    bench.history(*([100.0] * 15 + [90.0] * 15) * 4, *[100.0] * 12)
    report = bench.check(bench.run(60.0), bench.run(60.0), bench.run(60.0), metrics=("throughput",))

    assert judgements(report)["throughput"] is Judgement.REGRESSED
    assert "is unstable" in report.comparisons[0].note


def test_given_runs_are_compared_whatever_the_history(bench):
    runs = bench.history(*([100.0] * 15 + [90.0] * 15) * 4, *[100.0] * 6)
    contender = bench.history(*[90.0] * 6)
    report = bench.check(*contender, baseline=runs[-6:], metrics=("throughput",))

    assert judgements(report)["throughput"] is Judgement.REGRESSED
    assert report.comparisons[0].note == ""


def test_a_metric_that_few_runs_measured_has_the_same_baseline_among_others_as_alone(bench):
    for at in range(60):
        bench.run(only=None if at % 3 == 0 else METRICS[0].name)
    runs = [bench.run(103.0, subject="new", order_s=100.0) for _ in range(2)]
    together, alone = (
        {one.metric: one for one in bench.check(*runs, metrics=metrics).comparisons[0].comparison.verdicts}
        for metrics in ((), ("loss",))
    )
    assert {metric: one.n_baseline for metric, one in together.items()} == {"throughput": 20, "loss": 17}
    assert (alone["loss"].n_baseline, alone["loss"].baseline) == (17, together["loss"].baseline)


def test_sessions_with_as_many_runs_as_the_contender_are_read_whole(bench):
    for at in range(30):
        bench.history(*[100.0] * 3, subject=f"old-{at}", order_s=float(at), start_s=1e5 * at)
    runs = [bench.run(103.0, subject="new", order_s=100.0, start_s=1e7) for _ in range(3)]
    verdicts = bench.check(*runs).comparisons[0].comparison.verdicts
    assert [(verdict.n_baseline, verdict.sessions) for verdict in verdicts] == [(60, (20, 1))] * 2
