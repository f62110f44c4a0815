"""Rules about ``[sweep]``: it needs a matrix, and successive halving needs a metric with a direction and an axis."""

from collections.abc import Mapping
from typing import Any

from anubis.describe.check.limits import quoted
from anubis.describe.findings import Findings, did_you_mean
from anubis.describe.matrix.axes import SEED_AXIS
from anubis.describe.paths import METRIC_LISTS, get
from anubis.model.metric import Better


def check_sweep(tree: Mapping[str, Any], findings: Findings) -> None:
    """Check ``[sweep]`` of a tree in the shape of the model. Values of the wrong type are left to the validation."""
    if "sweep" not in tree:
        return
    axes = get(tree, ("matrix", "axes"))
    if not isinstance(axes, dict):
        findings.error(
            ("sweep",), "[sweep] needs a [matrix]", 'add one, such as "env.vars.BATCH" = ["16", "32"]'
        )
        return
    halving = get(tree, ("sweep", "halving"))
    if isinstance(halving, dict):
        _check_metric(tree, halving.get("metric"), findings)
        _check_axis(axes, halving.get("along"), findings)


def _check_metric(tree: Mapping[str, Any], name: Any, findings: Findings) -> None:
    if not isinstance(name, str):
        return
    path = ("sweep", "halving", "metric")
    declared = {
        metric["name"]: metric.get("better", Better.NONE)
        for listed in METRIC_LISTS
        for metric in get(tree, listed, ()) or ()
        if isinstance(metric, dict) and isinstance(metric.get("name"), str)
    }
    if name not in declared:
        remedy = did_you_mean(name, declared) if declared else "declare it in [[output.metrics]]"
        findings.error(path, f"{quoted(name)} is not a metric of this descriptor", remedy)
    elif declared[name] == Better.NONE:
        remedy = 'write better = "higher" or better = "lower" at the metric'
        findings.error(path, f"{quoted(name)} has no better direction, so it ranks nothing", remedy)


def _check_axis(axes: Mapping[str, Any], along: Any, findings: Findings) -> None:
    path = ("sweep", "halving", "along")
    if along is None:
        if SEED_AXIS not in axes:
            message = "halving needs an axis whose values are the rungs, and the matrix has no seeds"
            findings.error(
                ("sweep", "halving"), message, "add seeds = [1, 2, 3] to [matrix], or name an axis in along"
            )
    elif isinstance(along, str) and along not in axes:
        findings.error(path, f"{quoted(along)} is not an axis of this matrix", did_you_mean(along, axes))
