"""Problems of input files."""

from collections.abc import Mapping
from typing import Any

from anubis.api.json_values import Json
from anubis.model.plain import from_plain
from anubis.model.problem import Problem


def problem_to_json(problem: Problem) -> Json:
    """A problem; ``file`` is given only if it is not that of what contains the problem."""
    return {
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "severity": problem.severity.value,
        "message": problem.message,
        "remedy": problem.remedy,
        **({"file": problem.file} if problem.file else {}),
    }


def problem_from_json(plain: Mapping[str, Any]) -> Problem:
    return from_plain(Problem, plain)
