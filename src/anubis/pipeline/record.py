"""A record as the rest of the program sees it: what one attempt left in its folder, however it ended."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anubis.model.points import SampleBlock
from anubis.record.interference import disturbances

if TYPE_CHECKING:
    from anubis.record.telemetry import Telemetry


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """One execution of the benchmark as ``exit.json`` tells it."""

    #: From 0; negative in warm-ups.
    repeat: int
    code: int | None
    #: UTC seconds.
    started_s: float
    ended_s: float
    wall_s: float
    cpu_s: float
    #: None where the machine could not tell.
    peak_memory_bytes: float | None

    @property
    def measured(self) -> bool:
        """Not a warm-up, and it ended well."""
        return self.repeat >= 0 and self.code == 0


class Record:
    """The record in one folder. A file that is not there (the agent vanished) reads as empty."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def exit(self) -> Mapping[str, Any]:
        """``exit.json``; empty when the agent wrote no last word."""
        return self._json("exit.json")

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """``facts.json``."""
        return self._json("facts.json")

    @property
    def fingerprint(self) -> str:
        """Names what must match on two machines before their points are comparable; empty when unknown."""
        return str(self.facts.get("fingerprint", ""))

    @cached_property
    def executions(self) -> Sequence[Execution]:
        """What was started and ended, warm-ups first."""
        return [
            Execution(
                repeat=one["repeat"],
                code=one["code"],
                started_s=one["started_s"],
                ended_s=one["ended_s"],
                wall_s=one["wall_s"],
                cpu_s=one["user_s"] + one["system_s"],
                peak_memory_bytes=one["peak_memory_bytes"],
            )
            for one in self.exit.get("executions", ())
            if "wall_s" in one
        ]

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """What extraction found of each metric (``metrics.json``): counts, rejected values, closest lines."""
        found: Mapping[str, Any] = self._json("metrics.json").get("metrics", {})
        return found

    @cached_property
    def telemetry(self) -> "Telemetry | None":
        """The machine, second by second; None for a run too short to have any."""
        if not (self.folder / "telemetry").exists():
            return None
        from anubis.record.telemetry import Telemetry  # noqa: PLC0415  most runs of a large sweep have none

        return Telemetry(str(self.folder))

    def disturbances(self, execution: Execution) -> Sequence[str]:
        """What disturbed the machine during an execution, in words."""
        if self.telemetry is None:
            return ()
        return disturbances(self.telemetry, execution.started_s, execution.ended_s)

    def samples(self) -> Sequence[SampleBlock]:
        """Every sample, one block for each metric."""
        path = self.folder / "samples"
        if not path.exists() or path.stat().st_size == 0:
            return []
        from anubis.record import samples  # noqa: PLC0415  most runs of a large sweep have none

        return [
            SampleBlock(
                metric=metric,
                units=columns.units,
                values=columns.values,
                times_s=columns.times_s,
                steps=columns.steps,
                repeats=columns.repeats,
            )
            for metric, columns in samples.load(str(self.folder)).items()
        ]

    def _json(self, name: str) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = json.loads((self.folder / name).read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return found
