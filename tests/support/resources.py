"""One fixed value of every kind that has a JSON form, with every field set."""

from array import array
from dataclasses import replace

from anubis.analysis.samples.multiplicity import mean_effect
from anubis.contracts.points import MetricSummary
from anubis.contracts.runs import RunRow
from anubis.contracts.schedules import CatchUp, DueState, DueTime, Schedule
from anubis.judging.series_overview import SeriesOverview, SeriesState
from anubis.model.alert import AlertState
from anubis.model.cause import Cause
from anubis.model.delivery import Delivery, DeliveryStatus
from anubis.model.descriptor import Overlap, Subject
from anubis.model.hardware import Cost
from anubis.model.points import NO_STEP, Point, SampleBlock
from anubis.model.problem import Problem, Severity
from anubis.model.run import Event, Placement
from anubis.model.series import ChangeKind, ChangePoint, ChangeState, SeriesVerdict
from anubis.model.status import Phase, Status
from anubis.model.verdict import Comparison, CrossedBound, FalseRate, Judgement
from anubis.reporting.gate_report import BenchmarkComparison, Report
from anubis.testing.builders import NOW_S, a_descriptor, a_run
from support.alerts import a_verdict, an_alert

RUN_ID = "01937f00-0000-7000-8000-000000000001"
OTHER_ID = "01937f00-0000-7000-8000-000000000002"

DESCRIPTOR = a_descriptor(
    "resnet50-train", labels={"team": "vision", "tier": "1"}, priority=3, subject=Subject(commit="c0ffee")
)
RUN = replace(
    a_run(DESCRIPTOR, id=RUN_ID, created_s=NOW_S, due_s=NOW_S + 1),
    status=Status.FAILED,
    family_id=OTHER_ID,
    parent_id=OTHER_ID,
    attempt=2,
    placement=Placement(engine="fake", name=f"{RUN_ID}-2", details={"pid": 17, "host": "h"}),
    reason="exit code 1",
    cause=Cause.USER_ERROR,
    placed_s=NOW_S + 2.5,
    ended_s=NOW_S + 9.25,
    cancel_requested=True,
    folder="/home/me/bench",
    order_s=NOW_S - 60,
    cell={"file": "a.toml", "BATCH": 16},
    overrides={"env.vars.BATCH": "16"},
    phase=Phase.RUN,
    phase_s=NOW_S + 2.5,
    cost=Cost(amount=1.5, currency="USD"),
    needs=(OTHER_ID,),
    project="vision",
)
SCHEDULE = Schedule(
    id=OTHER_ID,
    name="nightly",
    scheduling="30 2 * * *",
    timezone="Europe/Berlin",
    overlap=Overlap.QUEUE,
    owner="a-client",
    created_s=NOW_S,
    changed_s=NOW_S + 1,
    file="/home/me/bench/nightly.toml",
    folder="/home/me/bench",
    script="scripts/0123.tar",
    overrides={"env.vars.BATCH": "16"},
    catch_up=CatchUp.ALL,
    catch_up_limit=3,
    jitter_s=30.0,
    pause_after=5,
    paused_s=NOW_S + 2,
    pause_reason="holiday",
    next_s=NOW_S + 60,
    queued=(NOW_S, NOW_S + 5),
)
DUE_TIME = DueTime(
    schedule_id=OTHER_ID,
    due_s=NOW_S,
    state=DueState.STARTED,
    noted_s=NOW_S + 0.25,
    run_id=RUN_ID,
    reason="triggered by me",
    count=2,
    last_s=NOW_S + 60,
)
ROW = RunRow(
    id=RUN_ID,
    name="resnet50-train",
    status=Status.SUCCEEDED,
    cause=None,
    engine="process",
    created_s=NOW_S,
    placed_s=NOW_S + 2.5,
    ended_s=None,
    reason="",
    family_id=None,
    labels={"team": "vision"},
    subject="c0ffee",
    cell={"file": "a.toml", "BATCH": 16},
    overrides={"env.vars.BATCH": "16"},
    values={"throughput": (912.4, "img/s"), "loss": (0.25, "none")},
    cost=Cost(amount=1.5, currency="USD"),
)
EVENT = Event(
    run_id=RUN_ID,
    kind="submitted",
    time_s=NOW_S,
    message="by hand",
    data={"cell": {"file": "a.toml", "round": 1}},
    actor="me",
    seq=12,
)
POINT = Point(
    run_id=RUN_ID,
    series_key="5" * 64,
    fingerprint="f" * 16,
    metric="throughput",
    units="img/s",
    value=912.4,
    spread=1.5,
    count=5,
    better="higher",
    order_s=NOW_S - 60,
    subject="c0ffee",
    contaminated=True,
)
OLDER = replace(POINT, run_id=OTHER_ID, value=950.0, order_s=NOW_S - 120, subject="beef", spread=None)
SUMMARY = MetricSummary(
    metric="throughput", units="img/s", count=100, last=912.0, min=900.5, max=950.0, mean=912.25
)
SAMPLES = SampleBlock(
    metric="throughput",
    units="img/s",
    values=array("d", [912.0, 913.5]),
    times_s=array("d", [NOW_S, NOW_S + 1]),
    steps=array("q", [7, NO_STEP]),
    repeats=array("i", [-1, 0]),
)
VERDICT = a_verdict(detectable=0.015, more_runs=4, adjusted_p=0.0008)
UNKNOWN = a_verdict(metric="loss", judgement=Judgement.UNDECIDED, effect=None, interval=None, p=None)


def compared(*verdicts):
    effect, interval, count = mean_effect(verdicts)
    return Comparison(verdicts=verdicts, mean_effect=effect, mean_interval=interval, mean_count=count)


COMPARISON = compared(VERDICT, UNKNOWN)
CROSSED = CrossedBound(
    metric="throughput",
    units="img/s",
    bound="change",
    value=871.9,
    reference=912.4,
    noise_floor=0.011,
    note="-4.4 % from its level of 912.4 img/s (limit 3.0 %)",
)
REPORT = Report(
    comparisons=(
        BenchmarkComparison(
            benchmark="resnet50-train",
            baseline="beef",
            contender="c0ffee",
            comparison=COMPARISON,
            crossed=(CROSSED,),
            disturbed_baseline=2,
            disturbed_contender=1,
        ),
        BenchmarkComparison(
            benchmark="bert", baseline="", contender="c0ffee", failure="it failed", note="no history"
        ),
    ),
    controls=FalseRate(count=20, false=1, interval=(0.001, 0.249), published=0.05, is_above=False),
)
ALERT = an_alert(why="meant", actor="me", muted_until_s=NOW_S + 60, told=AlertState.CONFIRMED, ordered=True)
CHANGE = ChangePoint(
    index=1,
    earliest=1,
    latest=1,
    state=ChangeState.CONFIRMED,
    kind=ChangeKind.STEP,
    judgement=Judgement.REGRESSED,
    effect=-0.04,
    interval=(-0.05, -0.03),
    z=9.5,
    before=950.0,
    after=912.4,
    n_before=1,
    n_after=1,
    noise_floor=0.01,
    detectable=0.02,
)
SERIES = SeriesOverview(
    benchmark="resnet50-train",
    labels={"team": "vision"},
    points=(OLDER, POINT),
    verdict=SeriesVerdict(
        n=2,
        changes=(CHANGE,),
        suspected=replace(CHANGE, state=ChangeState.SUSPECTED, kind=ChangeKind.DRIFT),
        level=912.4,
        expected=(900.0, 920.0),
        noise_floor=0.01,
        detectable=0.02,
    ),
    state=SeriesState.SUSPECTED,
)
PROBLEM = Problem(
    path="output.metrics[1].name",
    message="expected a string",
    remedy="write a string",
    line=3,
    column=8,
    severity=Severity.WARNING,
    file="a.toml",
)
DELIVERY = Delivery(
    alert_id="0123456789abcdef",
    state=AlertState.CONFIRMED,
    to="https://hooks.example.org/…",
    run_id=RUN_ID,
    created_s=NOW_S,
    due_s=NOW_S + 1,
    status=DeliveryStatus.REFUSED,
    attempts=2,
    error="404 Not Found",
    ended_s=NOW_S + 9.25,
    no=7,
)
