"""The values of a run with several replicas: from the records of all ranks, and of the server."""

import statistics
from array import array
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from anubis.contracts.records import RecordKey, Records, RoleFiles
from anubis.model.cause import Cause
from anubis.model.hardware import Distributed, Strategy
from anubis.model.metric import Metric, Ranks, Summary
from anubis.model.points import NO_STEP, SampleBlock
from anubis.model.run import Run
from anubis.pipeline.extraction import extracted
from anubis.pipeline.record_result import result_of
from anubis.pipeline.summarise import SUMMARIES, Measured, in_declared_units
from anubis.record.layout import BENCHMARK, FIRST_RANK
from anubis.record.reading import Execution, Record
from anubis.submission.bundle import MPI, SERVER, WORKER

#: More ranks than this are an invalid record.
_MOST_RANKS = 100_000
#: Names of ranks that a reason lists.
_MOST_NAMES = 8

REDUCTIONS: Mapping[Ranks, Callable[[Sequence[float]], float]] = {
    Ranks.SUM: lambda values: float(sum(values)),
    Ranks.MAX: max,
    Ranks.MIN: min,
    Ranks.MEAN: statistics.fmean,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The samples of a run, and why they cannot be complete."""

    blocks: Sequence[SampleBlock]
    #: Why samples may be missing; empty: all values in the output are among them.
    problem: str = ""
    #: Metrics in units that cannot be converted, as sentences.
    conflicts: Sequence[str] = ()
    #: Cause and reason of a failure that only all ranks together show.
    failure: tuple[Cause, str] | None = None
    #: The metrics whose samples are one value for each execution: that of all ranks.
    reduced: frozenset[str] = frozenset()
    #: The records of the ranks beside the measured replica that executed the benchmark.
    ranks: Sequence[Record] = ()
    #: The record in which a missing metric is explained.
    explained: Record | None = None


@dataclass(frozen=True, slots=True)
class _Rank:
    """One replica with its samples."""

    name: str
    record: Record
    blocks: Mapping[str, SampleBlock]


def values_of(run: Run, records: Records) -> Values:
    """The samples of the current attempt, extracted again where they are not complete."""
    key = RecordKey(run.id, run.attempt)
    found = extracted(records, key)
    declared = run.descriptor.output.metrics
    if run.descriptor.hardware.strategy is Strategy.SINGLE_NODE:
        blocks, conflicts = in_declared_units(declared, found.blocks)
        return Values(blocks=blocks, problem=found.problem, conflicts=[*found.conflicts, *conflicts])
    return _Gathering(run, records).values()


class _Gathering:
    """Reads all records of one attempt."""

    def __init__(self, run: Run, records: Records) -> None:
        self._run = run
        self._records = records
        self._problem = ""
        self._conflicts: list[str] = []
        self._strategy = run.descriptor.hardware.strategy

    def values(self) -> Values:
        measured = self._rank(RecordKey(self._run.id, self._run.attempt), self._run.descriptor.output.metrics)
        ranks, absent = self._ranks(measured)
        failure = self._incomplete(ranks, absent)
        blocks, reduced = self._reduced(ranks if measured in ranks else [*ranks, measured], ranks)
        blocks += self._of_server(measured.record)
        if problems := [found for found in reduced.values() if found]:
            failure = failure or (Cause.METRIC_MISSING, "; ".join(problems))
        return Values(
            blocks=blocks,
            problem=self._problem,
            conflicts=self._conflicts,
            failure=failure,
            reduced=frozenset(reduced),
            ranks=[] if self._strategy in MPI else [rank.record for rank in ranks if rank is not measured],
            explained=ranks[0].record if ranks else None,
        )

    def _rank(self, key: RecordKey, declared: Sequence[Metric]) -> _Rank:
        record = Record(RoleFiles(self._records, key))
        name = f"{key.role} {key.rank}"
        found = extracted(self._records, key)
        if found.problem and not self._problem:
            self._problem = f"{name}: {found.problem}"
        blocks, conflicts = in_declared_units(declared, found.blocks)
        self._conflicts += [each for each in (*found.conflicts, *conflicts) if each not in self._conflicts]
        return _Rank(name, record, {block.metric: block for block in blocks})

    def _ranks(self, measured: _Rank) -> tuple[list[_Rank], list[str]]:
        """The replicas that execute the benchmark, in order of rank, and the names of those without a record."""
        run, metrics = self._run, self._run.descriptor.output.metrics
        role = WORKER if self._strategy in MPI else BENCHMARK
        present = sorted(
            {each.key.rank for each in self._records.list(run.id, run.attempt) if each.key.role == role}
        )
        ranks = {
            rank: measured
            if (role, rank) == (BENCHMARK, FIRST_RANK)
            else self._rank(RecordKey(run.id, run.attempt, role, rank), metrics)
            for rank in present
        }
        expected = self._expected([rank.record for rank in ranks.values()])
        absent = [f"{role} {rank}" for rank in range(expected) if rank not in ranks]
        return list(ranks.values()), absent

    def _expected(self, ranks: Sequence[Record]) -> int:
        """How many ranks there must be. ``mpirun`` decides how many it starts, and tells each of them."""
        if self._strategy in MPI:
            return max((_world_size(record) for record in ranks), default=0)
        if self._strategy is Strategy.INFERENCE:
            return 1
        return (self._run.descriptor.hardware.distributed or Distributed()).num_instances

    @staticmethod
    def _incomplete(ranks: Sequence[_Rank], absent: Sequence[str]) -> tuple[Cause, str] | None:
        """The failure of ranks without a successful result."""
        unfinished = list(absent)
        for rank in ranks:
            result = result_of(rank.record)
            if result is None or result.cause is not None:
                unfinished.append(rank.name)
        if not unfinished:
            return None
        return (
            Cause.RANK_MISSING,
            f"no complete result of {_listed(unfinished)}, of {len(ranks) + len(absent)} ranks",
        )

    def _reduced(
        self, candidates: Sequence[_Rank], ranks: Sequence[_Rank]
    ) -> tuple[list[SampleBlock], dict[str, str]]:
        """One block for each metric; the metrics that were reduced, each with what is missing."""
        declared = {metric.name: metric for metric in self._run.descriptor.output.metrics}
        names = dict.fromkeys(name for rank in candidates for name in rank.blocks)
        blocks, reduced = [], {}
        for name in names:
            metric = declared.get(name)
            if (
                metric is None
                or metric.ranks is Ranks.FIRST
                or not any(name in rank.blocks for rank in ranks)
            ):
                blocks.append(next(rank.blocks[name] for rank in candidates if name in rank.blocks))
                continue
            block, reduced[name] = reduce(metric, ranks)
            blocks.append(block)
        return blocks, reduced

    def _of_server(self, measured: Record) -> list[SampleBlock]:
        """The samples of the server, with the repeats of the benchmark during which they arrived."""
        server = self._run.descriptor.server
        if server is None:
            return []
        rank = self._rank(RecordKey(self._run.id, self._run.attempt, SERVER), server.output.metrics)
        return [timed(block, measured.executions) for block in rank.blocks.values()]


def timed(block: SampleBlock, executions: Sequence[Execution]) -> SampleBlock:
    """The samples with the repeat of the last execution that had started before; before the first one, repeat 0."""
    ordered = sorted(executions, key=lambda execution: execution.started_s)
    starts_s = [execution.started_s for execution in ordered]
    repeats = array("i")
    for time_s in block.times_s:
        position = bisect_right(starts_s, time_s)
        repeats.append(ordered[position - 1].repeat if position else 0)
    return replace(block, repeats=repeats)


def reduce(metric: Metric, ranks: Sequence[_Rank]) -> tuple[SampleBlock, str]:
    """One value of all ranks for each execution, and which values are missing; executions without all are left out."""
    per_rank = {rank.name: _per_repeat(metric, rank.blocks.get(metric.name)) for rank in ranks}
    repeats = sorted({repeat for values in per_rank.values() for repeat in values})
    block = SampleBlock(
        metric=metric.name,
        units=next(rank.blocks[metric.name].units for rank in ranks if metric.name in rank.blocks),
        values=array("d"),
        times_s=array("d"),
        steps=array("q"),
        repeats=array("i"),
    )
    problem = ""
    for repeat in repeats:
        lacking = [name for name, values in per_rank.items() if repeat not in values]
        if lacking and repeat >= 0 and not problem:
            problem = (
                f'metric "{metric.name}" has no value of {_listed(lacking)} in repeat {repeat}: '
                f'ranks = "{metric.ranks}" needs a value of every rank'
            )
        if lacking:
            continue
        every = [values[repeat] for values in per_rank.values()]
        block.values.append(REDUCTIONS[metric.ranks]([value for value, _ in every]))
        block.times_s.append(max(time_s for _, time_s in every))
        block.steps.append(NO_STEP)
        block.repeats.append(repeat)
    return block, problem


def together(measured: Sequence[Measured], others: Sequence[Sequence[Measured]]) -> list[Measured]:
    """What all ranks used: the time of the slowest, the processor time and the memory of all."""
    return [
        _together(one, [each for rank in others for each in rank if each.repeat == one.repeat])
        for one in measured
    ]


def _together(one: Measured, others: Sequence[Measured]) -> Measured:
    every = [one, *others]
    peaks = [each.peak_process_bytes for each in every if each.peak_process_bytes is not None]
    trees = [each.peak_tree_bytes for each in every if each.peak_tree_bytes is not None]
    return replace(
        one,
        wall_s=max(each.wall_s for each in every),
        cpu_s=sum(each.cpu_s for each in every),
        peak_process_bytes=max(peaks, default=None),
        peak_tree_bytes=sum(trees) if len(trees) == len(every) else None,
    )


def _per_repeat(metric: Metric, block: SampleBlock | None) -> dict[int, tuple[float, float]]:
    """Repeat -> the summary of its samples, and the time of the last one."""
    samples: dict[int, tuple[list[float], float]] = {}
    if block is not None:
        for repeat, value, time_s in zip(block.repeats, block.values, block.times_s, strict=True):
            values, _ = samples.get(repeat, ([], 0.0))
            values.append(value)
            samples[repeat] = values, time_s
    summarised = SUMMARIES[Summary(metric.summary)]
    return {repeat: (summarised(values), time_s) for repeat, (values, time_s) in samples.items()}


def _world_size(record: Record) -> int:
    size = record.facts.get("world_size")
    return size if type(size) is int and 0 < size <= _MOST_RANKS else 0


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
