"""Reads the record of one role and rank: its result, the machine, the executions, the metrics and the samples."""

from __future__ import annotations

from functools import cached_property

from anubis.record import layout
from anubis.record.files import read_json
from anubis.record.validation import exit_problems, facts_problems, metrics_problems, read_checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

    from anubis.record.files import Files
    from anubis.record.samples import Columns
    from anubis.record.telemetry import Telemetry


class Execution:
    """One execution of the benchmark, from exit.json."""

    __slots__ = (
        "code",
        "cpu_energy_j",
        "cpu_s",
        "ended_s",
        "peak_memory_bytes",
        "repeat",
        "started_s",
        "wall_s",
    )

    def __init__(self, facts: Mapping[str, Any]) -> None:
        #: From 0; negative in warm-ups.
        self.repeat: int = facts["repeat"]
        self.code: int | None = facts["code"]
        #: UTC seconds.
        self.started_s: float = facts["started_s"]
        self.ended_s: float = facts["ended_s"]
        self.wall_s: float = facts["wall_s"]
        self.cpu_s: float = facts["user_s"] + facts["system_s"]
        #: Of its largest process; None where the system does not report it.
        self.peak_memory_bytes: float | None = facts.get("peak_memory_bytes")
        #: Of the processors and their memory; None: unknown.
        self.cpu_energy_j: float | None = _energy_of(facts.get("energy"))

    @property
    def measured(self) -> bool:
        """Whether it succeeded and was not a warm-up."""
        return self.repeat >= 0 and self.code == 0


class WarmUp:
    """How a warm-up of automatic length ended, from exit.json."""

    __slots__ = ("executions", "is_steady")

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.executions: int = facts["executions"]
        #: Whether a steady state was reached.
        self.is_steady: bool = facts["is_steady"]

    @property
    def text(self) -> str:
        """A sentence about the end of the warm-up, from its numbers: a benchmark can write any text to its record."""
        count = f"{self.executions} warm-up{'s' * (self.executions != 1)}"
        if self.is_steady:
            return f"steady state after {count}"
        return f"no steady state after {count}: the measured executions may still have a trend"


def _energy_of(facts: Any) -> float | None:
    value = facts.get("cpu_j") if isinstance(facts, dict) else None
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1e15 else None


class Record:
    """The record of one role and rank. A missing file counts as empty, because an agent that is killed writes only some.

    A file with content that the agent cannot have written counts as empty too; ``damage`` describes it.
    """

    def __init__(self, files: Files) -> None:
        self.files = files

    @cached_property
    def _exit(self) -> tuple[Mapping[str, Any], str]:
        return read_checked(self.files, layout.EXIT, exit_problems)

    @cached_property
    def _facts(self) -> tuple[Mapping[str, Any], str]:
        return read_checked(self.files, layout.FACTS, facts_problems)

    @property
    def exit(self) -> Mapping[str, Any]:
        """The result of the run (exit.json); empty when the agent was killed before it wrote the file."""
        return self._exit[0]

    @property
    def image_digest(self) -> str:
        """The digest of the image of the container; empty without one."""
        image = self.facts.get("image")
        return str(image.get("digest") or "") if isinstance(image, dict) else ""

    @property
    def facts(self) -> Mapping[str, Any]:
        """The machine and the environment (facts.json)."""
        return self._facts[0]

    @property
    def exit_damage(self) -> str:
        """What is wrong with exit.json; empty: nothing."""
        return self._exit[1]

    @property
    def damage(self) -> str:
        """What is wrong with exit.json and facts.json; empty: nothing."""
        return "; ".join(filter(None, (self._exit[1], self._facts[1])))

    @property
    def fingerprint(self) -> str:
        """Digest of the facts that must be equal on two machines for comparable points; empty when unknown."""
        return str(self.facts.get("fingerprint", ""))

    @property
    def data_digests(self) -> Sequence[str]:
        """Digests of the datasets of the benchmark, in the order of the descriptor; empty: it has none."""
        return [str(row.get("digest", "")) for row in self.data_sources]

    @property
    def data_sources(self) -> Sequence[Mapping[str, Any]]:
        """The datasets of the benchmark with their addresses and digests, in the order of the descriptor."""
        rows = read_json(self.files, layout.DATA).get("sources", ())
        return [row if isinstance(row, dict) else {} for row in rows] if isinstance(rows, list) else []

    @property
    def missing_conditions(self) -> Mapping[str, str]:
        """The conditions of the descriptor that did not apply, and why."""
        asked = self.facts.get("conditions")
        return {
            str(name): str(facts["why"])
            for name, facts in (asked.items() if isinstance(asked, dict) else ())
            if isinstance(facts, dict) and facts.get("why") is not None
        }

    @property
    def machine(self) -> str:
        """Identifies the machine since its last start, also from inside a container."""
        boot_id = self.facts.get("system", {}).get("boot_id")
        return str(boot_id or self.facts.get("hostname") or self.fingerprint)

    @cached_property
    def executions(self) -> Sequence[Execution]:
        """The executions that started and ended, warm-ups first."""
        return [Execution(facts) for facts in self.exit.get("executions", ()) if "wall_s" in facts]

    @property
    def warm_up(self) -> WarmUp | None:
        """The end of a warm-up of automatic length; None for another one, and if the run failed during it."""
        facts = self.exit.get("warm_up")
        return WarmUp(facts) if facts is not None else None

    @cached_property
    def metrics(self) -> Mapping[str, Any]:
        """The extractor's report on each metric (metrics.json): counts, rejected values, most similar lines."""
        content, _ = read_checked(self.files, layout.METRICS, metrics_problems)
        reports: Mapping[str, Any] = content.get("metrics", {})
        return reports

    @cached_property
    def telemetry(self) -> Telemetry | None:
        """The telemetry, one row per second; None for a run that was too short."""
        if not self.files.state(layout.TELEMETRY):
            return None
        from anubis.record.telemetry import Telemetry  # most runs of a large sweep have none

        return Telemetry(self.files)

    def disturbances(self, execution: Execution) -> Sequence[str]:
        """Disturbances of the machine during an execution, as sentences."""
        if self.telemetry is None:
            return ()
        from anubis.record.interference import disturbances

        return disturbances(self.telemetry, execution.started_s, execution.ended_s)

    def peak_tree_bytes(self, execution: Execution) -> float | None:
        """The largest sampled memory of all processes of an execution; None for one that was too short for a sample."""
        if self.telemetry is None:
            return None
        return self.telemetry.largest("tree_memory", execution.started_s, execution.ended_s)

    def gpu_energy_j(self, execution: Execution) -> float | None:
        """The energy of all accelerators: their mean power over the execution times its duration.

        None without telemetry of at least two seconds, and if the power of a device is unknown at any time.
        """
        if self.telemetry is None:
            return None
        power_w = self.telemetry.mean_sum("power", execution.started_s, execution.ended_s)
        return None if power_w is None else power_w * execution.wall_s

    def samples(self) -> Mapping[str, Columns]:
        """All samples, by metric. Raises DamagedError."""
        return self.extracted()[0]

    def extracted(self) -> tuple[Mapping[str, Columns], bool, Sequence[str]]:
        """All samples, by metric; whether the extractor had read the whole output; why values were left out.

        Raises DamagedError.
        """
        if not self.files.state(layout.SAMPLES):
            return {}, False, ()
        from anubis.record.samples import SampleFile  # most runs of a large sweep have none

        file = SampleFile(self.files)
        samples = file.read_new()
        return samples, file.complete, tuple(file.conflicts.values())

    @property
    def has_output(self) -> bool:
        """Whether the benchmark printed or emitted anything."""
        states = [self.files.state(stream) for stream in layout.STREAMS]
        return any(state is not None and state.size_bytes for state in states)
