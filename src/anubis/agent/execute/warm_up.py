"""A warm-up that is as long as the benchmark needs: it ends when the durations of the last executions have one level.

A window test, as the dynamic ends of warm-up in Traini et al. 2023, "Towards effective assessment of steady state
performance in Java software". Medians replace means: one slow execution must neither begin nor end a warm-up.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence

#: Executions that are compared: the first half of them with the second half.
WINDOW = 8
#: A change of the level below this share of it is not a trend.
TOLERANCE = 0.01
#: A change of the level below so many times the scatter is not a trend. A linear trend without noise changes the level by
#: half a window, which is four times its scatter.
_SCATTERS = 2.0


class WarmUp:
    """The warm-up executions of a run until a steady state is reached."""

    def __init__(self, most: int) -> None:
        """``most``: their largest number."""
        self._most = most
        self._durations_s: list[float] = []
        self._is_steady = False

    @property
    def has_ended(self) -> bool:
        """Whether the measured executions are next."""
        return self._is_steady or len(self._durations_s) >= self._most

    def note(self, wall_s: object) -> None:
        """Note the duration of a warm-up execution that succeeded, in seconds."""
        if isinstance(wall_s, float):
            self._durations_s.append(wall_s)
            self._is_steady = is_steady(self._durations_s)

    def facts(self) -> dict[str, object] | None:
        """How it ended, for the record; None if it did not end: the run failed before."""
        if not self.has_ended:
            return None
        why = "steady" if self._is_steady else "limit"
        return {"executions": len(self._durations_s), "is_steady": self._is_steady, "why": why}


def is_steady(durations_s: Sequence[float]) -> bool:
    """Whether the level of the last ``WINDOW`` durations, in seconds, does not change; never for fewer durations.

    The level is the median of one half of the window, the scatter the median difference of successive durations. A cycle
    that is much shorter than the window is scatter.
    """
    if len(durations_s) < WINDOW:
        return False
    window = durations_s[-WINDOW:]
    before, after = median(window[: WINDOW // 2]), median(window[WINDOW // 2 :])
    scatter = median([abs(window[at] - window[at - 1]) for at in range(1, WINDOW)])
    return abs(after - before) <= max(TOLERANCE * before, _SCATTERS * scatter)


def median(values: Sequence[float]) -> float:
    """The median; without the module ``statistics``, whose import takes milliseconds."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
