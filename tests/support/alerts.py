"""Alerts and gates' reports for tests."""

from dataclasses import replace

from anubis.model.alert import Alert, AlertKind, AlertRow, AlertState
from anubis.model.verdict import Comparison, Judgement, Verdict
from anubis.reporting.gate_report import BenchmarkComparison, Report

OLD = "1a2b3c4d5e6f" + "0" * 28
NEW = "3f2a91c04d1e" + "0" * 28

ROW = AlertRow(
    series_key="5" * 64,
    fingerprint="f" * 16,
    metric="throughput",
    units="img/s",
    better="higher",
    kind=AlertKind.REGRESSION,
    effect=-0.0444,
    interval=(-0.058, -0.031),
    before=912.4,
    after=871.9,
    n_before=10,
    n_after=8,
    noise_floor=0.011,
)
ALERT = Alert(
    id="0123456789abcdef",
    benchmark="resnet50-train",
    kind=AlertKind.REGRESSION,
    state=AlertState.CONFIRMED,
    rows=(ROW,),
    run_id="01937f00-0000-7000-8000-000000000001",
    last_old=OLD,
    first_new=NEW,
    opened_s=1_700_000_000.0,
    changed_s=1_700_000_060.0,
    repository="https://github.com/org/model",
)


def an_alert(**fields):
    return replace(ALERT, **fields)


def a_row(**fields):
    return replace(ROW, **fields)


def a_verdict(**fields):
    return Verdict(
        **{
            "metric": "throughput",
            "units": "img/s",
            "judgement": Judgement.REGRESSED,
            "effect": -0.0444,
            "interval": (-0.058, -0.031),
            "p": 0.0004,
            "n_baseline": 10,
            "n_contender": 10,
            "baseline": 912.4,
            "contender": 871.9,
            "min_effect": 0.02,
            "noise_floor": 0.011,
            "better": "higher",
            **fields,
        }
    )


def a_report(*verdicts, **fields):
    """One benchmark with these verdicts."""
    comparison = Comparison(verdicts=verdicts, mean_effect=None, mean_interval=None, mean_count=0)
    about = {"benchmark": "resnet50-train", "baseline": OLD, "contender": NEW, "comparison": comparison}
    return Report(comparisons=(BenchmarkComparison(**{**about, **fields}),))
