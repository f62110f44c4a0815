"""Schedules: descriptors that are submitted at due times."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anubis.contracts.schedules import CatchUp, DueTime, Schedule
from anubis.model.problem import Problem
from anubis.model.run import Run

if TYPE_CHECKING:
    from anubis.describe.drafting import DescriptorText


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """A schedule that was added or updated."""

    schedule: Schedule
    #: The schedule of this name that was updated; None: it is new.
    before: Schedule | None = None
    #: The fields that differ; ``descriptor.PATH``: a field of the descriptor; ``text``: only its text, such as a comment.
    changes: tuple[str, ...] = ()


class Schedules(Protocol):
    """Add, list, pause, trigger and remove schedules. A reference is a name, an id or a unique prefix of an id."""

    def add(
        self,
        file: "Path | DescriptorText",
        *,
        name: str | None = None,
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        catch_up: CatchUp = CatchUp.LAST,
        catch_up_limit: int = 10,
        jitter_s: float = 0.0,
        pause_after: int = 0,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> Added:
        """Store a descriptor file with a schedule, or update the schedule of that name (None: that of the benchmark).

        The file is not read again later. Raises BadInputError with every problem for which its runs would be refused.
        """
        ...

    def get(self, ref: str) -> Schedule:
        """One schedule. Raises NotFoundError."""
        ...

    def find(self) -> Sequence[Schedule]:
        """All schedules, by name."""
        ...

    def text(self, ref: str) -> str:
        """The text of its descriptor."""
        ...

    def due_times(self, ref: str, *, limit: int = 20) -> Sequence[DueTime]:
        """What happened to its latest due times, newest first."""
        ...

    def pause(self, ref: str, *, why: str = "") -> Schedule:
        """Start no more runs. Queued due times are skipped; runs in progress continue."""
        ...

    def resume(self, ref: str) -> Schedule:
        """Start runs again from the next due time after now. Due times that passed during the pause are skipped."""
        ...

    def trigger(self, ref: str) -> list[Run]:
        """Submit its runs now, whatever its overlap policy, also if it is paused."""
        ...

    def remove(self, ref: str) -> Schedule:
        """Delete a schedule; its runs remain."""
        ...
