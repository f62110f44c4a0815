"""The contract of ``Engine`` as tests, for authors of engines.

A subclass has fixtures ``engine`` and ``ended``: a function that waits until a placement has ended, and may raise an
error when that takes too long. ``command`` ends soon with exit code 0; ``patient`` runs until it is cancelled. An engine
that runs containers needs an ``image`` with both.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from anubis.contracts.engine import Capabilities
from anubis.contracts.environments import SubmittedEnvironment
from anubis.model.cause import Cause
from anubis.model.descriptor import Measure
from anubis.model.errors import RevokedError
from anubis.model.hardware import Hardware, Strategy
from anubis.model.launch import Bundle, Launch, Replica, Role
from anubis.model.run import Placement, Run, Seen
from anubis.pipeline.launch import launch_of
from anubis.record import liveness
from anubis.record.files import FolderFiles
from anubis.record.layout import BENCHMARK
from anubis.record.reading import Record
from anubis.testing.builders import a_descriptor, a_run
from anubis.testing.memory_folders import FakeObjects


def a_launch(
    engine: Any, run: Run, command: tuple[str, ...], *, folder: str | None = None, **changes: Any
) -> Launch:
    """The launch of a run of this command on this engine, in a working folder; ``changes`` are fields of Role."""
    role = Role(name=BENCHMARK, command=command, **{"measure": Measure(timeout_s=60.0), **changes})
    return launch_of(
        run,
        Bundle(roles=(role,), folder=folder),
        engine.capabilities.mounting,
        FakeObjects(),
        environment=SubmittedEnvironment(variables=dict(os.environ)),
        digest=str.casefold,
    )


def start(engine: Any, run: Run, command: tuple[str, ...], **changes: Any) -> Placement:
    """Place a run of this command; ``changes`` are a working folder and fields of Role."""
    placement: Placement = engine.place(run, a_launch(engine, run, command, **changes))
    return placement


class EngineContract:
    """Placing, observing and cancelling."""

    command: tuple[str, ...] = ("true",)
    patient: tuple[str, ...] = ("sleep", "60")
    image: str | None = None

    @pytest.fixture
    def run(self, engine: Any) -> Run:
        """A run for the engine."""
        return a_run(engine=engine.name)

    def test_it_has_a_name_and_capabilities(self, engine: Any) -> None:
        assert engine.name == engine.name.lower()
        assert isinstance(engine.capabilities, Capabilities)
        assert engine.capabilities.strategies

    def test_a_placement_can_be_found_again_from_its_data(
        self, engine: Any, run: Run, ended: Callable[[Placement], None]
    ) -> None:
        placement = start(engine, run, self.command, image=self.image)
        assert placement.engine == engine.name
        copy = Placement(engine=placement.engine, name=placement.name, details=dict(placement.details))
        ended(copy)
        seen = engine.observe([copy])[placement.name]
        assert (seen.seen, seen.exit_code) == (Seen.ENDED, 0)

    def test_one_attempt_is_placed_once(
        self, engine: Any, run: Run, ended: Callable[[Placement], None]
    ) -> None:
        first, second = (start(engine, run, self.patient, image=self.image) for _ in range(2))
        assert first.name == second.name
        engine.cancel(first)
        ended(second)

    def test_a_placement_is_found_by_its_run(
        self, engine: Any, run: Run, ended: Callable[[Placement], None]
    ) -> None:
        assert engine.placed(run) is None
        placement = start(engine, run, self.command, image=self.image)
        assert engine.placed(run) == placement
        assert engine.placed(a_run(engine=engine.name)) is None
        ended(placement)

    def test_a_revoked_attempt_never_starts(self, engine: Any, run: Run) -> None:
        assert engine.revoke(run)
        try:
            placement = start(engine, run, self.command, image=self.image)
        except RevokedError:
            return
        assert engine.observe([placement])[placement.name].seen is Seen.LOST

    def test_an_attempt_that_has_ended_is_not_revoked(
        self, engine: Any, run: Run, ended: Callable[[Placement], None]
    ) -> None:
        placement = start(engine, run, self.command, image=self.image)
        ended(placement)
        assert not engine.revoke(run)
        assert engine.placed(run) == placement

    def test_placements_are_observed_in_bulk(
        self, engine: Any, run: Run, ended: Callable[[Placement], None]
    ) -> None:
        placement = start(engine, run, self.command, image=self.image)
        ended(placement)
        unknown = Placement(engine=engine.name, name=f"{a_run().id}-1", details=placement.details)
        assert engine.observe([]) == {}
        assert set(engine.observe([placement, unknown])) == {placement.name, unknown.name}

    def test_a_cancelled_placement_ends(
        self, engine: Any, run: Run, ended: Callable[[Placement], None]
    ) -> None:
        placement = start(engine, run, self.patient, image=self.image)
        assert engine.observe([placement])[placement.name].seen in {Seen.WAITING, Seen.RUNNING}
        engine.cancel(placement)
        ended(placement)
        assert engine.observe([placement])[placement.name].seen is Seen.ENDED

    def test_cancelling_twice_after_the_end_is_allowed(
        self, engine: Any, run: Run, ended: Callable[[Placement], None]
    ) -> None:
        placement = start(engine, run, self.command, image=self.image)
        ended(placement)
        for _ in range(2):
            engine.cancel(placement)

    def test_logs_are_bytes(self, engine: Any, run: Run, ended: Callable[[Placement], None]) -> None:
        placement = start(engine, run, self.command, image=self.image)
        ended(placement)
        assert isinstance(b"".join(engine.logs(placement)), bytes)


class ReplicasContract:
    """Runs with several replicas, for engines that place them and share a file system with them; with the fixtures of
    ``EngineContract``.
    """

    command: tuple[str, ...] = ("true",)
    patient: tuple[str, ...] = ("sleep", "60")
    failing: tuple[str, ...] = ("false",)
    image: str | None = None
    #: Ranks of a run.
    count: int = 3

    @pytest.fixture
    def ranks(self, engine: Any) -> Run:
        """A run of several ranks for the engine."""
        hardware = Hardware(instance_type="local", strategy=Strategy.TORCHRUN)
        return a_run(a_descriptor(hardware=hardware), engine=engine.name)

    def launch(self, engine: Any, run: Run, command: tuple[str, ...]) -> Launch:
        """The launch of several ranks of this command."""
        return a_launch(engine, run, command, image=self.image, replicas=self.count)

    def test_all_replicas_run_to_their_end(
        self, engine: Any, ranks: Run, ended: Callable[[Placement], None]
    ) -> None:
        launch = self.launch(engine, ranks, self.command)
        placement = engine.place(ranks, launch)
        ended(placement)
        seen = engine.observe([placement])[placement.name]
        assert (seen.seen, seen.exit_code) == (Seen.ENDED, 0)
        results = [_record(replica).exit for replica in launch.replicas]
        assert [(result["code"], result["cause"]) for result in results] == [(0, None)] * self.count

    def test_placing_one_attempt_twice_starts_each_replica_once(
        self, engine: Any, ranks: Run, ended: Callable[[Placement], None]
    ) -> None:
        launch = self.launch(engine, ranks, self.command)
        first, second = (engine.place(ranks, launch) for _ in range(2))
        assert first.name == second.name
        ended(second)
        assert [len(_record(replica).executions) for replica in launch.replicas] == [1] * self.count

    def test_cancelling_ends_all_replicas(
        self, engine: Any, ranks: Run, ended: Callable[[Placement], None]
    ) -> None:
        launch = self.launch(engine, ranks, self.patient)
        placement = engine.place(ranks, launch)
        engine.cancel(placement)
        ended(placement)
        states = {liveness.state(replica.on_host(replica.record)) for replica in launch.replicas}
        assert states == {liveness.DEAD}

    def test_the_run_fails_with_its_ranks(
        self, engine: Any, ranks: Run, ended: Callable[[Placement], None]
    ) -> None:
        placement = engine.place(ranks, self.launch(engine, ranks, self.failing))
        ended(placement)
        seen = engine.observe([placement])[placement.name]
        assert (seen.seen, seen.cause) == (Seen.ENDED, Cause.USER_ERROR)


def _record(replica: Replica) -> Record:
    return Record(FolderFiles(replica.on_host(replica.record)))
