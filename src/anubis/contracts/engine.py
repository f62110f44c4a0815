"""Where a run runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anubis.model.hardware import Strategy
from anubis.model.launch import Launch, Mount
from anubis.model.run import Observation, Placement, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounting:
    """Where the processes of an engine find the files of a launch, and how they reach each other."""

    #: Words that start the agent.
    agent: tuple[str, ...]
    #: Folder of all records on this machine; None: the engine's machines do not share this file system.
    records: str | None = None
    #: Folder of this machine for extracted script archives; None: the engine extracts them where they are needed.
    scripts: str | None = None
    #: Folder inside a container with the record and the scripts of its run; None: processes see this machine's paths.
    inside: str | None = None
    #: Further mounts of every replica, for example the agent.
    mounts: tuple[Mount, ...] = ()
    #: Host name of a replica for the others; ``{run}``, ``{attempt}``, ``{role}`` and ``{rank}`` are filled in.
    address: str = "127.0.0.1"

    def __post_init__(self) -> None:
        if self.inside is None and (self.records is None or self.scripts is None):
            raise ValueError("an engine without containers must name the folders of records and scripts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine can do, as data, so that submit can refuse what it cannot."""

    strategies: frozenset[Strategy]
    #: Where its processes find their files.
    mounting: Mounting
    #: The engine runs container images; without it an image in the descriptor is only recorded.
    images: bool = False
    #: The engine runs nothing but images.
    image_required: bool = False
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

    def place(self, run: Run, launch: Launch) -> Placement:
        """Start every replica. Placing one attempt twice starts once: names derive from run id and attempt.

        Raises NoCapacityError when there is no room now, StageError when it can never work.
        """
        ...

    def placed(self, run: Run) -> Placement | None:
        """The placement that another reconciler may have started for this attempt; None: certainly nothing."""
        ...

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        """One observation for each placement, by placement name, from one bulk query.

        Leaves out a placement that only another machine or home folder can see.
        """
        ...

    def cancel(self, placement: Placement) -> None:
        """End it; no error if it has ended already. Returns before it has ended."""
        ...

    def logs(self, placement: Placement) -> Iterator[bytes]:
        """Messages of the engine itself, for a placement without a record."""
        ...
