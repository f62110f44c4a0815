"""Where a run runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anubis.model.hardware import Strategy
from anubis.model.run import Bundle, Observation, Placement, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine can do, as data, so that submit can refuse what it cannot."""

    strategies: frozenset[Strategy]
    #: The engine runs container images; without it an image in the descriptor is only recorded.
    images: bool = False
    #: The engine can put fetched datasets at their paths.
    data: bool = False
    #: The engine honours ``hardware.instance_type``.
    instance_types: bool = False
    #: ``measure.isolate = "place"`` is possible.
    isolate_place: bool = False


class Engine(Protocol):
    """Where a run runs. Engines only place agents; the agent measures.

    Methods are called from several threads at the same time. A call may take long: it delays no run of another engine.
    """

    name: str
    capabilities: Capabilities

    def place(self, run: Run, bundle: Bundle) -> Placement:
        """Start it. Placing one attempt twice starts once: names derive from run id and attempt.

        Raises NoCapacityError when there is no room now, StageError when it can never work.
        """
        ...

    def placed(self, run: Run) -> Placement | None:
        """What a reconciler that died just then may have started of this attempt; None: certainly nothing."""
        ...

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        """One observation for each placement, by placement name, in one bulk question.

        A placement that only another machine or home folder can see is left out: its run is left to them.
        """
        ...

    def cancel(self, placement: Placement) -> None:
        """End it; silent about what is gone already. Returns before it has ended."""
        ...

    def logs(self, placement: Placement) -> Iterator[bytes]:
        """What the engine itself has to say, for when there is no record."""
        ...
