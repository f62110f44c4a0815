"""Shared state of the in-memory store."""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from anubis.contracts.events import Sink, SinkState
from anubis.contracts.garbage import Hold
from anubis.contracts.runs import KeyedSubmission
from anubis.contracts.sweeps import Sweep
from anubis.model.alert import Alert
from anubis.model.delivery import Delivery, DeliveryStatus
from anubis.model.errors import ConflictError
from anubis.model.points import SESSION_PAUSE_S, Period, Point, SampleBlock, chains, session_id
from anubis.model.run import Event, Run


@dataclass(slots=True)
class Lease:
    owner: str
    until_s: float


@dataclass(slots=True)
class MemoryState:
    """All data of the in-memory store."""

    runs: dict[str, Run] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    points: dict[tuple[str, str], Point] = field(default_factory=dict)
    periods: dict[str, Period] = field(default_factory=dict)
    session_pause_s: float = SESSION_PAUSE_S
    samples: dict[tuple[str, str], SampleBlock] = field(default_factory=dict)
    alerts: dict[str, Alert] = field(default_factory=dict)
    deliveries: dict[int, Delivery] = field(default_factory=dict)
    sweeps: dict[str, Sweep] = field(default_factory=dict)
    delivery_leases: dict[int, Lease] = field(default_factory=dict)
    submissions: dict[str, KeyedSubmission] = field(default_factory=dict)
    #: Project -> its weight, and its most running runs; absent: 1, and no limit.
    weights: dict[str, float] = field(default_factory=dict)
    max_running: dict[str, int] = field(default_factory=dict)
    #: Run id -> the turn with which it was leased to start.
    turns: dict[str, float] = field(default_factory=dict)
    #: Events of removed runs.
    removed_events: list[Event] = field(default_factory=list)
    sinks: dict[int, Sink] = field(default_factory=dict)
    sink_leases: dict[int, Lease] = field(default_factory=dict)
    holds: dict[str, Hold] = field(default_factory=dict)
    last_seq: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def measured(self) -> list[Point]:
        """All points with their sessions."""
        session_ids: dict[str, str] = {}
        for chain in chains(self.periods, self.periods.__getitem__, self.session_pause_s):
            first = self.periods[chain[0]]
            session_ids |= dict.fromkeys(chain, session_id(first.machine, first.start_s))
        return [replace(each, session=session_ids.get(each.run_id, "")) for each in self.points.values()]

    def append(self, events: Iterable[Event]) -> None:
        for event in events:
            self.last_seq += 1
            self.events.append(replace(event, seq=self.last_seq))

    def append_removed(self, events: Iterable[Event]) -> None:
        for event in events:
            self.last_seq += 1
            self.removed_events.append(replace(event, seq=self.last_seq))

    def floor(self) -> int:
        """The number up to which every active sink has received the events."""
        cursors = [sink.cursor for sink in self.sinks.values() if sink.state is SinkState.ACTIVE]
        return min(cursors, default=self.last_seq)

    def drop_events(self, run_ids: set[str]) -> None:
        """Drop the events of runs, except for sinks that have not received them."""
        floor = self.floor()
        gone = [event for event in self.events if event.run_id in run_ids]
        self.removed_events += [event for event in gone if (event.seq or 0) > floor]
        self.events = [event for event in self.events if event.run_id not in run_ids]

    def put_alerts(self, alerts: Sequence[Alert]) -> None:
        for alert in alerts:
            stored = self.alerts.get(alert.id)
            if alert.version != (stored.version if stored else 0):
                raise ConflictError(f"another writer changed alert {alert.id}", remedy="try again")
        self.alerts |= {alert.id: replace(alert, version=alert.version + 1) for alert in alerts}

    def put_deliveries(self, deliveries: Iterable[Delivery]) -> None:
        for new in deliveries:
            key = (new.alert_id, new.to)
            for no, old in self.deliveries.items():
                if old.status is DeliveryStatus.PENDING and (old.alert_id, old.to) == key:
                    self.deliveries[no] = replace(
                        old, state=new.state, run_id=new.run_id, created_s=new.created_s
                    )
                    break
            else:
                self.deliveries[len(self.deliveries) + 1] = replace(new, no=len(self.deliveries) + 1)

    def put_samples(self, run_id: str, block: SampleBlock) -> None:
        before = self.samples.get((run_id, block.metric))
        stored = len(before.values) if before else 0
        if stored < block.start:
            raise ValueError(
                f"samples of {block.metric}: {stored} are stored, the block starts at {block.start}"
            )
        if before and block.start:
            block = replace(
                block,
                values=before.values[: block.start] + block.values,
                times_s=before.times_s[: block.start] + block.times_s,
                steps=before.steps[: block.start] + block.steps,
                repeats=before.repeats[: block.start] + block.repeats,
            )
        self.samples[run_id, block.metric] = replace(block, start=0)

    def forget_measured(self, run_id: str) -> None:
        for key in [key for key in self.points if key[0] == run_id]:
            del self.points[key]
        for key in [key for key in self.samples if key[0] == run_id]:
            del self.samples[key]
