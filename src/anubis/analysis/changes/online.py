"""Change points of a growing series, with one vector operation per point."""

import math

import numpy as np

from anubis.analysis.changes.assessment import report, too_short
from anubis.analysis.changes.backward_elimination import BackwardElimination, Change
from anubis.analysis.changes.detection import THRESHOLDS, instabilities
from anubis.analysis.changes.recursion import Recursion
from anubis.analysis.changes.scaling import FEWEST_POINTS, check_finite, next_checkpoint, prepare
from anubis.model.errors import BadInputError
from anubis.model.series import Sensitivity, Series, SeriesVerdict


class Detector:
    """The change point detector of one series; points are appended in subject order.

    After every point ``changes`` equals the result of ``find_changes`` for the points so far, and ``verdict()`` that of
    ``judge_series``, which reports no recent changes if the series has no stable level.
    """

    def __init__(
        self,
        *,
        sensitivity: Sensitivity = Sensitivity.NORMAL,
        min_effect: float = 0.02,
        metric: str = "",
        units: str = "none",
        better: str = "none",
    ) -> None:
        self._threshold = THRESHOLDS[sensitivity]
        self._min_effect = min_effect
        self._names = {"metric": metric, "units": units, "better": better}
        self._values: list[float] = []
        self._errors: list[float] = []
        self._subjects: list[str] = []
        self._recursion: Recursion | None = None
        self._checkpoint = FEWEST_POINTS
        self._changes: list[Change] = []

    @property
    def changes(self) -> tuple[int, ...]:
        """First points of new levels, ascending; only confirmed ones."""
        return tuple(change.at for change in self._changes)

    def append(self, value: float, error: float = 0.0, subject: str = "") -> bool:
        """Add the next point. Returns whether ``changes`` is different now.

        ``error`` is the standard error of the value from its own repeats, 0 where unknown. Raises BadInputError
        for values that are not finite and for an error below 0; then nothing is added.
        """
        if not (math.isfinite(value) and 0 <= error < math.inf):
            check_finite([value, error], "the appended values")
            raise BadInputError(
                f"the standard error {error} is below 0", remedy="give 0 where the error is not known"
            )
        self._values.append(value)
        self._errors.append(error)
        self._subjects.append(subject)
        count = len(self._values)
        if count < FEWEST_POINTS:
            return False
        recursion = self._recursion
        if recursion is None or count >= self._checkpoint or not recursion.accepts(value, error):
            recursion = self._restart(count)
        elif not recursion.step(value, error):
            return False
        before = self.changes
        self._changes = recursion.decide(self._threshold, self._min_effect)
        return self.changes != before

    def verdict(self) -> SeriesVerdict:
        """The verdict about the points so far."""
        series = Series(
            values=tuple(self._values),
            errors=tuple(self._errors) if any(self._errors) else (),
            subjects=tuple(self._subjects) if any(self._subjects) else (),
            **self._names,
        )
        if self._recursion is None:
            return too_short(series)
        prepared = self._recursion.prepared()
        unstable = instabilities(
            prepared,
            BackwardElimination(prepared.work, prepared.noise),
            [self._recursion.candidates()],
            threshold=self._threshold,
            min_effect=self._min_effect,
        )
        return report([series], prepared, [self._changes], unstable, threshold=self._threshold)[0]

    def _restart(self, count: int) -> Recursion:
        self._checkpoint = next_checkpoint(count)
        errors = np.array([self._errors]) if any(self._errors) else None
        self._recursion = Recursion(prepare(np.array([self._values]), errors), self._checkpoint)
        return self._recursion
