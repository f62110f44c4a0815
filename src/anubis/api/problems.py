"""Problems of input files."""

from collections.abc import Mapping
from typing import Any

from anubis.api.json_values import Json
from anubis.model.plain import from_plain
from anubis.model.problem import Problem


def problem_to_json(problem: Problem) -> Json:
    """A problem without its file, which belongs to what contains the problem."""
    return {
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "severity": problem.severity.value,
        "message": problem.message,
        "remedy": problem.remedy,
    }


def problem_from_json(plain: Mapping[str, Any]) -> Problem:
    return from_plain(Problem, plain)
