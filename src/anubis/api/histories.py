"""Results of imports and exports."""

from collections.abc import Sequence

from anubis.api.json_values import Json
from anubis.api.problems import problem_to_json
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
        "stored_runs": None if added is None else added.runs,
        "stored_values": None if added is None else added.values,
        "joined_runs": None if added is None else added.joined,
        "problems": [{"file": each.file, **problem_to_json(each)} for each in imported.problems],
    }


def exported_to_json(path: str, format_name: str, problems: Sequence[Problem]) -> Json:
    """The file that an export wrote, and the values that the format cannot hold."""
    return {"path": path, "format": format_name, "problems": [problem_to_json(each) for each in problems]}
