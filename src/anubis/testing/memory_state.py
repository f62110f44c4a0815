"""What every face of the store in memory keeps its things on."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from anubis.model.alert import Alert
from anubis.model.points import Point, SampleBlock
from anubis.model.run import Event, Run


@dataclass(slots=True)
class Lease:
    owner: str
    until_s: float


@dataclass(slots=True)
class MemoryState:
    """Everything, shared by the four faces of the store."""

    runs: dict[str, Run] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    points: dict[tuple[str, str], Point] = field(default_factory=dict)
    samples: dict[tuple[str, str], SampleBlock] = field(default_factory=dict)
    alerts: dict[str, Alert] = field(default_factory=dict)
    cursors: dict[str, int] = field(default_factory=dict)
    last_seq: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def append(self, events: Iterable[Event]) -> None:
        for event in events:
            self.last_seq += 1
            self.events.append(replace(event, seq=self.last_seq))

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
