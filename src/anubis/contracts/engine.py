"""Engines, which place runs on machines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anubis.model.hardware import Strategy
from anubis.model.launch import Launch, Mount
from anubis.model.run import Observation, Placement, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounting:
    """Paths and host names that the processes of an engine use."""

    #: Command line prefix that starts the agent.
    agent: tuple[str, ...]
    #: Folder of all records on this machine; None: the engine's machines do not share this file system.
    records: str | None = None
    #: Folder on this machine for extracted script archives; None: the engine extracts them on its machines.
    scripts: str | None = None
    #: Folder in a container with the record and the scripts of its run; None: processes use the paths of this machine.
    inside: str | None = None
    #: Further mounts of every replica, for example the agent.
    mounts: tuple[Mount, ...] = ()
    #: Host name at which other replicas reach a replica; a template of ``{run}``, ``{attempt}``, ``{role}``, ``{rank}``.
    address: str = "127.0.0.1"
    #: All replicas of a run are process trees of one machine: they share its ports, and the agent of each one watches the
    #: others through their records.
    one_machine: bool = False
    #: Other programs of this machine may use the ports of the replicas.
    shares_ports: bool = False
    #: The replicas of a run are on several nodes of a cluster, which share this file system and its paths, and perhaps run
    #: other benchmarks too: the agent of each replica watches the others through their records, and the resource manager
    #: gives ``mpirun`` its hosts.
    cluster: bool = False

    @property
    def watches(self) -> bool:
        """Whether the agent of each replica watches the others through their records."""
        return self.one_machine or self.cluster

    def __post_init__(self) -> None:
        if self.inside is None and (self.records is None or self.scripts is None):
            raise ValueError("an engine without containers must name the folders of records and scripts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What an engine supports, as data, so that submit can refuse other descriptors."""

    strategies: frozenset[Strategy]
    #: Paths and host names of its processes.
    mounting: Mounting
    #: The engine runs container images; without it an image in the descriptor is only recorded.
    images: bool = False
    #: The engine runs only container images; a descriptor without an image is refused.
    image_required: bool = False
    #: Benchmarks are separated from the files and processes of their machine, and from its network unless it is permitted.
    encloses: bool = False
    #: The operator allows privileged containers.
    privileged: bool = False
    #: The engine can put fetched datasets at their paths.
    data: bool = False
    #: The engine honours ``hardware.instance_type``.
    instance_types: bool = False
    #: Largest number of GPUs, of CPUs, and amount of memory (GiB) of a replica that the engine honours. A larger
    #: request is only recorded.
    gpus: float = 0
    cpus: float = 0
    memory_gb: float = 0
    #: The engine honours availability zones.
    zones: bool = False
    #: The engine uses ``[custom_params]``.
    custom_params: bool = False
    #: ``measure.isolate = "place"`` is possible.
    isolate_place: bool = False
    #: The engine has a queue: all runs of a sweep are placed in it, and it executes at most as many of them at the
    #: same time as ``Launch.at_once`` says.
    queue: bool = False
    #: Its machines prepare their launch themselves, and fetch the data: the engine gets a launch without replicas, which has
    #: what the submitter hands over.
    remote: bool = False
    #: The program of this machine that the engine uses, for ``anubis doctor``; empty: none.
    uses: str = ""
    #: What must be installed or set before the engine can place runs, as the remedy of a refusal; empty: nothing.
    missing: str = ""


class Engine(Protocol):
    """Places the agents of runs on machines; the agents measure.

    Methods are called from several threads at the same time. A slow call does not delay runs of other engines.
    """

    name: str
    capabilities: Capabilities

    def place(self, run: Run, launch: Launch) -> Placement:
        """Start every replica. Placing one attempt twice starts it once: names derive from run id and attempt.

        Raises NoCapacityError when there is no capacity now, NotReadyError while the engine prepares this run or its
        service does not respond, StageError when the run can never be placed, RevokedError when this attempt was
        revoked.
        """
        ...

    def placed(self, run: Run) -> Placement | None:
        """The placement that another reconciler may have started for this attempt; None: there is certainly none."""
        ...

    def revoke(self, run: Run) -> bool:
        """Ensure that this attempt never starts, even if a process that is stopped within ``place`` continues later.

        False if it has started: ``placed`` returns its placement.
        """
        ...

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        """One observation for each placement, by placement name, from one bulk query.

        Leaves out placements that are visible only on another machine or in another home folder.
        """
        ...

    def cancel(self, placement: Placement) -> None:
        """Request the end of the placement and return at once; no error if it has ended already."""
        ...

    def logs(self, placement: Placement) -> Iterator[bytes]:
        """Messages of the engine, for a placement without a record."""
        ...
