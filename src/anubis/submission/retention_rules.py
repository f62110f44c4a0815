"""The retention rules of an installation: a TOML file that says how long runs and their parts are kept."""

import fnmatch
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anubis.contracts.runs import Part
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem
from anubis.settings import Settings

DAY_S = 86_400.0
_DAYS = {"record_days": Part.RECORD, "sample_days": Part.SAMPLES, "event_days": Part.EVENTS, "run_days": None}
_EXAMPLE = 'for example: [[keep]] and below it benchmark = "nightly-*" and record_days = 90'


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How long the runs that it matches are kept, counted from their end. None: forever."""

    #: Pattern of names of benchmarks, with ``*`` and ``?``.
    benchmark: str = "*"
    #: Labels that a run must have.
    labels: dict[str, str] = field(default_factory=dict)
    #: Seconds that parts are kept; a part that is not named is kept with its run.
    parts_s: dict[Part, float] = field(default_factory=dict)
    run_s: float | None = None

    def matches(self, benchmark: str, labels: dict[str, str]) -> bool:
        """Whether the rule is about a run."""
        return fnmatch.fnmatchcase(benchmark, self.benchmark) and self.labels.items() <= labels.items()

    def is_over(self, age_s: float) -> bool:
        """Whether a run that ended so long ago is no longer kept."""
        return self.run_s is not None and age_s > self.run_s

    def expired(self, age_s: float) -> tuple[Part, ...]:
        """The parts that are no longer kept of a run that ended so long ago."""
        return tuple(part for part, kept_s in self.parts_s.items() if age_s > kept_s)

    @property
    def first_s(self) -> float:
        """The age at which something expires, seconds."""
        ages = [*self.parts_s.values(), *([] if self.run_s is None else [self.run_s])]
        return min(ages, default=float("inf"))


def of_installation(settings: Settings) -> Sequence[Rule]:
    """The rules in the file that the settings name, else in the one that may be in the home folder.

    Raises BadInputError for a file that is not valid, or that was named and does not exist.
    """
    file = settings.retention
    try:
        return read(file.read_text(encoding="utf-8"), file)
    except FileNotFoundError:
        if file == settings.home / "retention.toml":
            return ()
        raise BadInputError(
            f"there is no file {file} with retention rules", remedy="create it, or remove ANUBIS_RETENTION"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"the retention rules {file} cannot be read: {error}", remedy="make the file readable"
        ) from error


def read(text: str, file: Path) -> Sequence[Rule]:
    """The rules in a text; the first one that matches a run applies. Raises BadInputError with every problem."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(
            f"the retention rules {file} are not TOML: {error}", remedy="correct the file"
        ) from error
    keep = tree.get("keep", [])
    problems = [_problem(key, "this is not a key of retention rules") for key in tree if key != "keep"]
    if not isinstance(keep, list) or not all(isinstance(each, dict) for each in keep):
        problems.append(_problem("keep", "this is not a list of tables"))
        keep = []
    rules = [_rule(f"keep[{number}]", table, problems) for number, table in enumerate(keep)]
    if problems:
        named = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
        raise BadInputError(
            f"the retention rules {file} are not valid: {named}",
            remedy=problems[0].remedy,
            problems=problems,
            file=str(file),
        )
    return rules


def _rule(path: str, table: dict[str, Any], problems: list[Problem]) -> Rule:
    """The rule of one table; adds what is not valid to ``problems``."""
    parts_s: dict[Part, float] = {}
    run_s: float | None = None
    for key, value in table.items():
        place = f"{path}.{key}"
        if key in _DAYS:
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
                problems.append(_problem(place, "this is not a number of days above 0"))
            elif (part := _DAYS[key]) is None:
                run_s = value * DAY_S
            else:
                parts_s[part] = value * DAY_S
        elif key == "benchmark":
            if not isinstance(value, str):
                problems.append(_problem(place, "this is not a pattern"))
        elif key == "labels":
            if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
                problems.append(_problem(place, "this is not a table of texts"))
        else:
            problems.append(_problem(place, "this is not a key of a retention rule"))
    benchmark, labels = table.get("benchmark", "*"), table.get("labels", {})
    return Rule(benchmark=benchmark, labels=labels, parts_s=parts_s, run_s=run_s)


def _problem(path: str, message: str) -> Problem:
    return Problem(path=path, message=message, remedy=_EXAMPLE)
