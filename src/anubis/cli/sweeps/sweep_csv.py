"""The results of a sweep as CSV: long (a row for each run and metric) and wide (a row for each combination)."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from anubis.api.sweeps import cell_status
from anubis.model.status import Status
from anubis.suites.sweep_table import CellResult, Combination


def long_csv(results: Sequence[CellResult]) -> str:
    """Runs without a value have one row with an empty metric."""
    axes = _axes(result.values for result in results)
    head = [*axes, "run", "status", "cause", "metric", "value", "units", "spread", "repeats"]
    rows = []
    for result in results:
        run = result.run
        about = [result.values.get(axis, "") for axis in axes]
        about += [run.id if run else "", cell_status(result), (run.cause or "") if run else ""]
        rows += [
            [*about, p.metric, p.value, p.units, "" if p.spread is None else p.spread, p.count]
            for p in result.points
        ] or [[*about, "", "", "", "", ""]]
    return _text([head, *rows])


def wide_csv(combinations: Sequence[Combination]) -> str:
    """For each metric: mean, unit, limits of the 95 % interval and number of values; all empty without a value."""
    axes = _axes(each.values for each in combinations)
    metrics = list(dict.fromkeys(name for each in combinations for name in each.metrics))
    head = [*axes, "cells", "succeeded", "failed", "cut"]
    for name in metrics:
        head += [f"{name}_mean", f"{name}_units", f"{name}_low", f"{name}_high", f"{name}_n"]
    rows = []
    for each in combinations:
        row = [each.values.get(axis, "") for axis in axes]
        row += [len(each.cells), each.count(Status.SUCCEEDED), each.count(Status.FAILED)]
        row.append(sum(cell.cut is not None for cell in each.cells))
        for name in metrics:
            found = each.metrics.get(name)
            low, high = found.interval if found and found.interval else ("", "")
            row += [found.mean, found.units, low, high, found.count] if found else [""] * 5
        rows.append(row)
    return _text([head, *rows])


def _axes(cells: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(axis for values in cells for axis in values))


def _text(rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
