"""Results of imports."""

from anubis.api.json_values import Json
from anubis.api.problems import problem_to_json
from anubis.transfer.histories import ImportResult


def imported_to_json(imported: ImportResult, stored_runs: int | None) -> Json:
    """What was read; ``stored_runs`` is the number of new runs, None if nothing was to be stored."""
    return {
        "formats": imported.formats,
        "benchmarks": sorted({run.descriptor.info.name for run, _ in imported.history.runs}),
        "runs": len(imported.history.runs),
        "values": len(imported.history.points),
        "missing": imported.missing,
        "stored_runs": stored_runs,
        "problems": [{"file": each.file, **problem_to_json(each)} for each in imported.problems],
    }
