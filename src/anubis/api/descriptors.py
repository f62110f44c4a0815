"""Results of validation."""

from collections.abc import Sequence

from anubis.api.json_values import Json
from anubis.api.problems import problem_to_json
from anubis.contracts.datasets import DataPlan
from anubis.describe import Cell, ResolvedValue
from anubis.describe.paths import shown
from anubis.model.plain import to_plain
from anubis.model.problem import Problem, Severity


def validation_to_json(
    file: str,
    problems: Sequence[Problem],
    runs: Sequence[tuple[Cell, str]] | None = None,
    *,
    next_due_s: float | None = None,
    data: DataPlan | None = None,
) -> Json:
    """A descriptor file and its problems; with ``runs`` those that it describes, each with the name of its engine.

    ``next_due_s``: UTC seconds.
    """
    report: Json = {
        "file": file,
        "valid": not any(problem.severity is Severity.ERROR for problem in problems),
        "problems": [problem_to_json(problem) for problem in problems],
    }
    if next_due_s is not None:
        report["next_due_s"] = next_due_s
    if runs is not None:
        report["runs"] = [
            {"cell": cell.values, "engine": engine, "descriptor": to_plain(cell.descriptor)}
            for cell, engine in runs
        ]
    if data is not None:
        report["data"] = {
            "sources": [
                {
                    "src": planned.src,
                    "size_bytes": planned.size_bytes,
                    "stored_bytes": planned.stored_bytes,
                    "problem": planned.problem or None,
                }
                for planned in data.sources
            ],
            "size_bytes": data.size_bytes,
            "fetch_bytes": data.fetch_bytes,
            "free_bytes": data.free_bytes,
        }
    return report


def resolved_to_json(value: ResolvedValue) -> Json:
    """A value of a descriptor and its origin; ``line`` is null unless it is in the file."""
    return {
        "path": shown(value.path),
        "value": value.value,
        "origin": value.origin.value,
        "line": value.line,
        **({"file": value.file} if value.file else {}),
    }
