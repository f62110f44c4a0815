"""Results of imports and exports."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from anubis.api.json_values import Json
from anubis.api.problems import problem_from_json, problem_to_json
from anubis.model.problem import Problem
from anubis.transfer.histories import Added, ImportResult


def imported_to_json(imported: ImportResult, added: Added | None) -> Json:
    """What was read and what of it is new; ``added`` is None if nothing was to be stored."""
    return {
        "formats": imported.formats,
        "benchmarks": sorted({run.descriptor.info.name for run, _ in imported.history.runs}),
        "runs": len(imported.history.runs),
        "values": len(imported.history.points),
        "missing": imported.missing,
        "differing": imported.differing,
        "stored_runs": None if added is None else added.runs,
        "stored_values": None if added is None else added.values,
        "joined_runs": None if added is None else added.joined,
        "problems": [{"file": each.file, **problem_to_json(each)} for each in imported.problems],
    }


def exported_to_json(path: str, format_name: str, problems: Sequence[Problem]) -> Json:
    """The file that an export wrote, and the values that the format cannot hold."""
    return {"path": path, "format": format_name, "problems": [problem_to_json(each) for each in problems]}


def added_from_json(plain: Mapping[str, Any]) -> Added:
    """What an import added, from the form of ``imported_to_json``."""
    return Added(
        runs=plain["stored_runs"] or 0, values=plain["stored_values"] or 0, joined=plain["joined_runs"] or 0
    )


def problems_from_json(plain: Mapping[str, Any], file: str) -> list[Problem]:
    """The problems of an import, as those of a file."""
    return [replace(problem_from_json(each), file=file) for each in plain["problems"]]
