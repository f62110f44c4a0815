"""Sweeps, their cells and their results."""

from collections.abc import Mapping, Sequence
from typing import Any

from anubis.api.json_values import Json
from anubis.api.runs import cost_from_json, cost_to_json, row_from_json, row_to_json
from anubis.contracts.sweeps import Sweep
from anubis.model.plain import from_plain, to_plain
from anubis.suites.halving import Cut
from anubis.suites.sweep_state import SweepState
from anubis.suites.sweep_table import CellResult, Combination


def sweep_to_json(sweep: Sweep) -> Json:
    """A sweep of a listing."""
    return {
        "id": sweep.id,
        "name": sweep.descriptor.info.name,
        "owner": sweep.owner,
        "created_s": sweep.created_s,
        "cells": len(sweep.cells),
        "phase": sweep.phase.value,
        "reason": sweep.reason,
        "cause": None if sweep.cause is None else sweep.cause.value,
        "project": sweep.project,
        "overrides": sweep.overrides,
        "rules": None if sweep.descriptor.sweep is None else to_plain(sweep.descriptor.sweep),
    }


def state_to_json(
    state: SweepState, results: Sequence[CellResult], combinations: Sequence[Combination]
) -> Json:
    """A sweep with every cell and combination."""
    return {
        **sweep_to_json(state.sweep),
        "cost": cost_to_json(state.cost),
        "unknown_costs": state.unknown_costs,
        "runs": [_cell(result) for result in results],
        "combinations": [_combination(each) for each in combinations],
    }


def _cell(result: CellResult) -> Json:
    run = result.run
    return {
        "cell": dict(result.values),
        "status": cell_status(result),
        "run": None if run is None else run.id,
        "cause": None if run is None else run.cause,
        "cost": None if run is None else cost_to_json(run.cost),
        "reason": "" if run is None else run.reason,
        "metrics": {
            point.metric: {
                "value": point.value,
                "units": point.units,
                "spread": point.spread,
                "repeats": point.count,
            }
            for point in result.points
        },
        "cut": _cut(result.cut),
    }


def cell_status(result: CellResult) -> str:
    """The status of the run of a cell; ``cut`` or ``missing`` without a run."""
    if result.run is not None:
        return result.run.status.value
    return "cut" if result.cut else "missing"


def _combination(each: Combination) -> Json:
    return {
        "cell": dict(each.values),
        "cells": len(each.cells),
        "metrics": {
            name: {
                "mean": found.mean,
                "units": found.units,
                "low": found.interval[0] if found.interval else None,
                "high": found.interval[1] if found.interval else None,
                "count": found.count,
                "over": found.over.value,
            }
            for name, found in each.metrics.items()
        },
        "cut": _cut(each.cut),
    }


def _cut(cut: Cut | None) -> Mapping[str, Any] | None:
    return None if cut is None else to_plain(cut)


def sweep_details_to_json(sweep: Sweep) -> Json:
    """A sweep with everything that ``sweep_from_json`` needs, its descriptor included."""
    return {**sweep_to_json(sweep), "details": to_plain(sweep)}


def sweep_from_json(plain: Mapping[str, Any]) -> Sweep:
    """The sweep of ``sweep_details_to_json``."""
    return from_plain(Sweep, plain["details"])


def progress_to_json(state: SweepState) -> Json:
    """A sweep with the runs of its cells, by position, and what is left to do."""
    return {
        "sweep": sweep_details_to_json(state.sweep),
        "runs": {str(position): row_to_json(row) for position, row in state.runs.items()},
        "due": list(state.due),
        "cut": {str(position): _cut(cut) for position, cut in state.cut.items()},
        "stop": state.stop,
        "spent": state.spent,
        "cost": cost_to_json(state.cost),
        "unknown_costs": state.unknown_costs,
    }


def progress_from_json(plain: Mapping[str, Any]) -> SweepState:
    """The state of ``progress_to_json``."""
    return SweepState(
        sweep=sweep_from_json(plain["sweep"]),
        runs={int(position): row_from_json(row) for position, row in plain["runs"].items()},
        due=plain["due"],
        cut={int(position): from_plain(Cut, cut) for position, cut in plain["cut"].items()},
        stop=plain["stop"],
        spent=plain["spent"],
        cost=cost_from_json(plain["cost"]),
        unknown_costs=plain["unknown_costs"],
    )
