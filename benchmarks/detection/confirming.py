"""How often suspicions are confirmed: whole runs on a simulated machine, driven by the reconciler under a simulated clock.

Stages, reconciler, store (SQLite) and records are those of an installation. Only the engine, the clock and the threads are
simulated: the engine writes the record that an agent leaves, and the duration in it comes from a model of the machine.
"""

import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from anubis.contracts.records import RecordKey
from anubis.model.alert import AlertKind, AlertState
from anubis.model.descriptor import Notify, Script, Subject
from anubis.model.launch import Launch
from anubis.model.metric import Better, Metric, Output
from anubis.model.run import Observation, Placement, Run, Seen
from anubis.model.status import Status
from anubis.pipeline.reconciler import Reconciler
from anubis.record import samples
from anubis.settings import Settings
from anubis.store import FolderObjects, FolderRecords, open_store
from anubis.submission.environment.handover import HomeEnvironments
from anubis.testing import FakeClock, FakeEngine, FakeThreads, a_descriptor, a_point, a_run, a_world

METRIC = "latency"
#: Seconds of a run at the old level; standard deviation of a run, and of a session, as ratios.
LEVEL_S, RUN_SD, SESSION_SD = 2.0, 0.01, 0.02
PAST = 20
SCRIPT = "script.tar"
HOUR_S = 3600.0


class SimulatedMachine(FakeEngine):
    """An engine that runs one benchmark at a time, for the duration that a model of the machine gives it."""

    def __init__(self, clock: FakeClock, records: FolderRecords, duration_s: Callable[[Run], float]) -> None:
        super().__init__(room=1)
        self._clock, self._records, self._duration_s = clock, records, duration_s
        #: Name of the running placement -> its run and duration, and when it ends.
        self._running: dict[str, tuple[Run, float, float]] = {}

    def place(self, run: Run, launch: Launch) -> Placement:
        placement = super().place(run, launch)
        if placement.name not in self._running and self.seen[placement.name].seen is Seen.RUNNING:
            duration_s = self._duration_s(run)
            self._running[placement.name] = run, duration_s, self._clock.now_s() + duration_s
        return placement

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        for placement in placements:
            run, duration_s, end_s = self._running.get(placement.name, (None, 0.0, 0.0))
            if run is not None and self._clock.now_s() >= end_s:
                del self._running[placement.name]
                self._write_record(run, duration_s, end_s)
                self.end(placement)
        return super().observe(placements)

    def _write_record(self, run: Run, duration_s: float, end_s: float) -> None:
        key = RecordKey(run.id, run.attempt)
        execution = {
            "phase": "measure",
            "repeat": 0,
            "code": 0,
            "started_s": end_s - duration_s,
            "ended_s": end_s,
            "wall_s": duration_s,
            "user_s": 0.0,
            "system_s": 0.0,
            "peak_memory_bytes": 1000,
        }
        outcome = {
            "code": 0,
            "cause": None,
            "reason": "",
            "executions": [execution],
            "extraction": "complete",
        }
        self._records.replace(key, "facts.json", json.dumps({"fingerprint": "a-machine"}).encode())
        self._records.replace(key, "exit.json", json.dumps(outcome).encode())
        self._records.append(key, "samples", 0, _one_sample(duration_s))


def _one_sample(value: float) -> bytes:
    """The file of samples of a run that emitted one value."""
    columns = samples.Columns(METRIC, "s")
    columns.append(value, 0.0, samples.NO_STEP, 0)
    series = json.dumps({"id": 0, "metric": METRIC, "units": "s", "labels": {}}).encode()
    parts = [samples.HEADER, samples.frame(samples.SERIES, series), samples.block(0, columns)]
    return b"".join([*parts, samples.frame(samples.STATE, json.dumps({"complete": True}).encode())])


class Machine:
    """A machine with states, a store, and one benchmark after the other."""

    def __init__(self, folder: Path, random: np.random.Generator) -> None:
        self.random, self.clock, self.threads = random, FakeClock(), FakeThreads()
        records = FolderRecords(folder / "records")
        self.store = open_store(f"sqlite:///{folder / 'anubis.db'}")
        self.world = a_world(
            self.store,
            engines={"fake": SimulatedMachine(self.clock, records, self._duration_s)},
            objects=FolderObjects(folder / "objects"),
            records=records,
            environments=HomeEnvironments(Settings.from_env({"ANUBIS_HOME": str(folder)}), {}),
            clock=self.clock,
        )
        self.world.objects.put(SCRIPT, io.BytesIO(b"script"))
        self.reconciler = Reconciler(self.world, "bench", start=self.threads)
        #: Deviation of this session from the usual state, as a ratio; effects by version.
        self.state = 0.0
        self.effects: dict[str, float] = {}

    def _duration_s(self, run: Run) -> float:
        effect = self.effects.get(run.descriptor.subject.version or "", 0.0)
        return float(LEVEL_S * np.exp(effect + self.state + RUN_SD * self.random.standard_normal()))

    def work(self) -> None:
        """Drive all runs until they are final."""
        while self.store.runs.unfinished():
            self.reconciler.held.keeper.turn()
            self.reconciler.turn()
            while self.threads.run():
                self.reconciler.turn()
            self.clock.advance(1.25 * LEVEL_S)

    def is_confirmed(self, name: str, confirm_runs: int, *, effect: float, state: float) -> bool | None:
        """Whether a version with this effect, first measured in this state of the machine, is reported as changed.

        None if it is not suspected. The history has one run in each session; all confirming runs share the state.
        """
        output = Output(metrics=(Metric(name=METRIC, units="s", better=Better.LOWER),))
        benchmark = a_descriptor(name, output=output)
        benchmark = replace(benchmark, ml=replace(benchmark.ml, script=Script(script=SCRIPT)))
        self.effects = {"new": effect}
        for number in range(PAST):
            self.state = SESSION_SD * self.random.standard_normal()
            self._add_past(replace(benchmark, subject=Subject(version=f"v{number}")))
        self.state = state
        notify = Notify(to="mailto:team@example.org", confirm_runs=confirm_runs)
        descriptor = replace(benchmark, subject=Subject(version="new"), notify=(notify,))
        run = a_run(descriptor, status=Status.PLACE, created_s=self.clock.now_s())
        self.store.runs.add([(replace(run, order_s=run.created_s), "text")], [])
        self.work()
        alerts = self.store.alerts.find(benchmark=name)
        assert self.store.runs.get(run.id).status is Status.SUCCEEDED
        assert {alert.kind for alert in alerts} <= {AlertKind.REGRESSION}, alerts
        return alerts[0].state is AlertState.CONFIRMED if alerts else None

    def _add_past(self, descriptor) -> None:
        now_s = self.clock.now_s()
        run = a_run(descriptor, status=Status.SUCCEEDED, created_s=now_s, order_s=now_s)
        point = a_point(
            run,
            METRIC,
            self._duration_s(run),
            units="s",
            better="lower",
            order_s=now_s,
            subject=descriptor.subject.version,
        )
        self.store.runs.add_finished([(run, "text")], [point])
        self.clock.advance(HOUR_S)


@contextmanager
def machine(seed: int) -> Iterator[Machine]:
    """A machine in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        one = Machine(Path(folder), np.random.default_rng(seed))
        try:
            yield one
        finally:
            one.store.close()


def confirmed_share(seed: int, count: int, confirm_runs: int, *, is_real: bool) -> tuple[float, int]:
    """The share of suspicions that are confirmed, and their number.

    False ones come from a session that is slower by 4 to 6 times the usual deviation; real ones are shifts of four
    standard deviations of a run around the level, measured in a usual session.
    """
    confirmed, suspected = 0, 0
    with machine(seed) as one:
        for number in range(count):
            usual = SESSION_SD * one.random.standard_normal()
            if is_real:
                effect, state = 4 * float(np.hypot(RUN_SD, SESSION_SD)), usual
            else:
                effect, state = 0.0, SESSION_SD * float(one.random.uniform(4, 6))
            found = one.is_confirmed(f"benchmark {number}", confirm_runs, effect=effect, state=state)
            suspected += found is not None
            confirmed += bool(found)
    return confirmed / max(suspected, 1), suspected
