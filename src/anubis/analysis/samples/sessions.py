"""Comparison with a history whose values come from several sessions.

Runs of one session share the state of the machine, so they are one value, their median. Its error contains the noise
between sessions, however many runs were made: error^2 = between^2 + within^2 / runs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from scipy.special import stdtr, stdtrit

from anubis.analysis.samples.ranks import Shift
from anubis.analysis.samples.spread import (
    MAD_TO_SIGMA,
    MEDIAN_VARIANCE,
    mean,
    median,
    median_variance,
    noise_floor,
)
from anubis.analysis.verdict_text import FEWEST_SESSIONS

__all__ = ["FEWEST_SESSIONS", "AgainstHistory", "against_history", "centre", "grouped", "split_noise"]

#: Weight of "no noise within sessions" in its estimate, in degrees of freedom. Too high an estimate within makes that
#: between too low; by simulation, the rate of false changes is then between 3 and 7 %.
_PSEUDO_FREEDOM = 4
#: Maximum numbers of further runs in one session and of further sessions that are proposed.
_MAX_RUNS, _MAX_SESSIONS = 16, 100


@dataclass(frozen=True, slots=True)
class AgainstHistory:
    """The difference of a contender from a history, and its noise, in working values."""

    shift: Shift
    #: Standard error of the difference.
    error: float
    #: Standard deviations of a session around the level, and of a run around its session; None: no session has two runs.
    between: float
    within: float | None
    #: Degrees of freedom of the noise.
    freedom: int
    #: Variance of the level of the history.
    level_variance: float
    #: The medians of the sessions of the history, and their standard deviation.
    level: Sequence[float]
    level_noise: float
    #: Numbers of sessions of the history and of the contender, and runs in a typical session of the contender.
    sessions: tuple[int, int]
    runs: int

    @property
    def noise(self) -> float:
        """Standard deviation of one run around the level."""
        return math.hypot(self.between, self.within or 0.0)

    @property
    def detectable(self) -> float:
        """Smallest difference that is detected at 5 % (two-sided) with 80 % power."""
        return self._reach() * self._error(self.runs, self.sessions[1])

    def shift_at(self, alpha: float) -> Shift:
        """The difference with an interval of confidence 1 - ``alpha``."""
        return student(self.shift.estimate, self.error, self.freedom, alpha)

    def needed(self, gap: float) -> tuple[int | None, int | None]:
        """Further runs in each session of the contender, else further sessions, that detect a difference of ``gap``.

        Both are None if no proposed number is sufficient.
        """
        sessions = self.sessions[1]
        left = (gap / self._reach()) ** 2 - self.level_variance
        if self.within:
            of_runs = (left / median_variance(sessions) - self.between**2) / self.within**2
            if (more := _further(self.runs, of_runs)) <= _MAX_RUNS:
                return more, None
        of_one = self.between**2 + (self.within or 0.0) ** 2 * median_variance(self.runs)
        more = _further(sessions, left / of_one if of_one else math.inf)
        return None, more if more <= _MAX_SESSIONS else None

    def _reach(self) -> float:
        return _quantile(self.freedom, 0.05) + _quantile(self.freedom, 0.4)

    def _error(self, runs: int, sessions: int) -> float:
        one = self.between**2 + (self.within or 0.0) ** 2 * median_variance(runs)
        return math.sqrt(one * median_variance(sessions) + self.level_variance)


def _further(count: int, ratio: float) -> int:
    """How many more than ``count`` values have a median with at most this variance, over that of one; at least 1."""
    if ratio <= 0:
        return _MAX_SESSIONS + 1
    if count == 1 and median_variance(2) <= ratio:
        return 1
    return max(1, math.ceil(min(MEDIAN_VARIANCE / ratio, 1e9)) - count)


def grouped(values: Sequence[float], counts: Sequence[int]) -> list[list[float]]:
    """The values of each session; ``counts`` are the numbers of values in each."""
    if len(counts) == len(values):
        return [[value] for value in values]
    starts = accumulate(counts, initial=0)
    return [sorted(values[start : start + count]) for start, count in zip(starts, counts, strict=False)]


def centre(sessions: Sequence[Sequence[float]]) -> float:
    """The median over sessions of their medians; each session is sorted."""
    return median(sorted(map(median, sessions)))


def against_history(
    old: Sequence[Sequence[float]], new: Sequence[Sequence[float]], *, difference: float | None = None
) -> AgainstHistory:
    """Compare the sessions of a contender with at least ``FEWEST_SESSIONS`` sessions of a history.

    Each session is a sorted list of working values, one for each run. ``difference`` is that of the centres in working
    values, if it is not that of the medians of the working values. Centres are medians; the noise between sessions
    is the robust spread of the medians of the history, less the part that its runs explain; the noise within is that of
    all runs around their sessions. Student's t with one degree of freedom less than the history has sessions.
    """
    within = _within([*old, *new])
    level = list(map(median, old))
    total, share, between = _variances(old, level, within)
    of_contender = total
    if within is not None:
        runs = mean([median_variance(len(session)) for session in new])
        of_contender = between + within**2 * runs
        if (
            runs < share
        ):  # the error becomes smaller than that of the history only as far as the noise is known
            freedom = sum(len(session) - 1 for session in (*old, *new))
            known = min(within**2, total / share) * freedom / (freedom + _PSEUDO_FREEDOM)
            of_contender = total - known * (share - runs)
    level_variance = total * median_variance(len(old))
    error = math.sqrt(of_contender * median_variance(len(new)) + level_variance)
    return AgainstHistory(
        shift=student(centre(new) - centre(old) if difference is None else difference, error, len(old) - 1),
        error=error,
        between=math.sqrt(between),
        within=within,
        freedom=len(old) - 1,
        level_variance=level_variance,
        level=level,
        level_noise=math.sqrt(total),
        sessions=(len(old), len(new)),
        runs=round(mean([len(session) for session in new])),
    )


def split_noise(sessions: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Standard deviations of sessions around their level and of runs around their session, in working units.

    None with fewer than ``FEWEST_SESSIONS`` sessions, and if no session has two runs. Each session is sorted.
    """
    within = _within(sessions)
    if within is None or len(sessions) < FEWEST_SESSIONS:
        return None
    return math.sqrt(_variances(sessions, list(map(median, sessions)), within)[2]), within


def _variances(
    sessions: Sequence[Sequence[float]], medians: Sequence[float], within: float | None
) -> tuple[float, float, float]:
    """The variance of the medians, the share of a run's variance in it, and the variance between sessions."""
    total = (noise_floor(medians) or 0.0) ** 2
    share = mean([median_variance(len(session)) for session in sessions])
    return total, share, max(0.0, total - share * (within or 0.0) ** 2)


def _within(sessions: Sequence[Sequence[float]]) -> float | None:
    """Robust standard deviation of runs around the mean of their session; None if no session has two."""
    sizes = sorted(
        abs(value - mean(session)) * math.sqrt(len(session) / (len(session) - 1))
        for session in sessions
        if len(session) > 1
        for value in session
    )
    return MAD_TO_SIGMA * median(sizes) if sizes else None


def student(difference: float, error: float, freedom: float, alpha: float = 0.05) -> Shift:
    """Interval and p of a difference with this standard error.

    Without any spread (a count that is the same in every run) the interval is a single point.
    """
    if error <= 1e-12 * abs(difference) or error == 0:
        return Shift(difference, difference, difference, 1.0 if difference == 0 else 0.0)
    half = _quantile(freedom, alpha) * error
    p = 2 * float(stdtr(freedom, -abs(difference) / error))
    return Shift(difference, difference - half, difference + half, min(1.0, p))


@lru_cache(maxsize=4096)
def _quantile(freedom: float, alpha: float) -> float:
    """The value that Student's t exceeds in absolute terms with probability ``alpha``."""
    return float(stdtrit(freedom, 1 - alpha / 2))
