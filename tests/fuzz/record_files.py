"""Targets ``emit``, ``index``, ``samples``, ``telemetry`` and ``result``: the files of a record."""

import io
import json
import random
import struct
from functools import cache
from pathlib import Path
from typing import Any

from anubis.agent.extract.emit_lines import Emitted
from anubis.agent.extract.metric_buffers import MetricBuffers
from anubis.contracts.records import blocks_of
from anubis.model.metric import Metric
from anubis.model.run import Run
from anubis.pipeline.record_result import result_of
from anubis.pipeline.stages.collect import _explain
from anubis.pipeline.summarise import Measured, points_of
from anubis.record import layout, samples, tailing, telemetry, time_index
from anubis.record.files import FileState
from anubis.record.index_writer import CHUNK, END, ENTRY_FORMAT, GAP, HEADER
from anubis.record.interference import LIMITS, disturbances
from anubis.record.log_stream import LogStream, as_json, with_time
from anubis.record.reading import Record
from anubis.record.validation import DamagedError
from anubis.testing.builders import a_run
from fuzz.mutators import mutated_bytes, mutated_plain
from fuzz.targets import Target
from support.agents import HandmadeRecord

NOW_NS = 1_700_000_000_000_000_000
EMITTED: tuple[Any, ...] = (
    {"loss": 0.5},
    {"loss": "0.5", "accuracy": 1},
    {"anubis": 1, "t": NOW_NS, "m": {"loss": 0.5}, "s": 3, "u": {"loss": "ms"}, "l": {"gpu": "0"}},
    {"anubis": 1, "t": [NOW_NS, NOW_NS + 1], "m": {"loss": [0.5, 1], "x": [1, 2]}, "s": [1, 2]},
    {"anubis": 1, "dropped": 3},
)
EXECUTION = {
    "phase": "measure", "repeat": 0, "pid": 7, "started_s": 1.7e9, "ended_s": 1.7e9 + 2, "wall_s": 2.0, "user_s": 1.0,
    "system_s": 0.1, "code": 0, "signal": None, "peak_memory_bytes": 1e6, "leftovers": [], "end_reason": None,
}  # fmt: skip
EXIT = {
    "version": 1, "code": 0, "signal": None, "cause": None, "reason": "", "started_s": 1.7e9, "ended_s": 1.7e9 + 3,
    "executions": [EXECUTION, {**EXECUTION, "repeat": -1}, {**EXECUTION, "repeat": 1, "code": 1}],
    "streams": {"stdout": {"bytes": 10, "lost_bytes": 0}}, "cgroup_peak_bytes": None, "extraction": "complete",
    "sampling": "complete", "disk_free_bytes": 10**9, "agent": {"cpu_s": 0.1},
}  # fmt: skip
FACTS = {"version": 1, "fingerprint": "f" * 64, "cpu": {"model": "x", "count": 2}, "gpus": [], "error": None}
METRICS = {
    "version": 1,
    "metrics": {
        "m": {"count": 1, "rejected": {"not a number": 1}, "rejected_example": "x", "closest": ["m: 1"]}
    },
}
EVENTS = ({"kind": "execution_started", "repeat": 0, "time_s": 1.7e9}, {"kind": "ended", "code": 0})


class Bytes:
    """The files of a record in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self._files = files

    def read(self, file: str, offset: int, length: int) -> bytes:
        return self._files.get(file, b"")[offset : offset + length]

    def state(self, file: str) -> FileState | None:
        return FileState(len(self._files[file]), 1.7e9) if file in self._files else None

    def problem(self, file: str) -> str:
        return ""


@cache
def _run() -> Run:
    return a_run()


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def _json_bytes(chance: random.Random, value: Any) -> bytes:
    """JSON with changed values, in a few cases with changed bytes."""
    data = _dumped(mutated_plain(chance, value) if chance.random() < 0.9 else value)
    if chance.random() < 0.02:
        deep = chance.choice((100, 5000, 100_000))
        data = data.replace(b"1", b"[" * deep + b"]" * deep, 1)
    return mutated_bytes(chance, data) if chance.random() < 0.2 else data


# emit


def _emit(chance: random.Random) -> list[bytes]:
    return [
        _json_bytes(chance, chance.choice(EMITTED)).replace(b": ", b":").replace(b", ", b",")
        for _ in range(chance.choice((1, 1, 3)))
    ]


def _read_emit(lines: list[bytes], _folder: Path) -> bool:
    buffers = MetricBuffers({"loss": {"units": "1"}})
    emitted = Emitted(buffers)
    for line in lines:
        emitted.take(line, 1.7e9, 0)
        emitted.take_stdout(line, 1.7e9, 0)
    parts = [samples.HEADER]
    for number, buffer in enumerate(buffers.with_samples()):
        facts = {
            "id": number,
            "metric": buffer.columns.metric,
            "units": buffer.columns.units,
            "labels": buffer.labels,
        }
        parts += [samples.frame(samples.SERIES, _dumped(facts)), samples.block(number, buffer.columns)]
    json.dumps(buffers.counters())
    read = samples.load(Bytes({layout.SAMPLES: b"".join(parts)}))
    points_of(_run(), blocks_of(read), [], "f")
    return bool(read)


# index


def _index(chance: random.Random) -> tuple[bytes, bytes]:
    text = b"".join(b"m: %d\n" % number for number in range(chance.choice((0, 3, 50))))
    entries, at, time_ns = [], 0, NOW_NS
    while at < len(text):
        at = min(len(text), at + chance.randrange(1, 60))
        time_ns += chance.randrange(10**9)
        entries.append([at, time_ns, 0, chance.choice((0, 0, 0, 1, 2)), chance.choice((CHUNK, CHUNK, GAP))])
    entries.append([0, time_ns, 0, 0, END])
    for _ in range(chance.choice((0, 1, 2))):
        entry = chance.choice(entries)
        entry[0] = chance.choice((-1, 0, 2**62, -(2**62), entry[0] + 7))
        entry[1] = chance.choice((-1, 0, 2**63 - 1, -(2**63), entry[1]))
        entry[2] = chance.choice((-1, 2**31 - 1, -(2**31), 0))
        entry[3], entry[4] = chance.randrange(256), chance.randrange(256)
    data = HEADER + b"".join(struct.pack(ENTRY_FORMAT, *entry) for entry in entries)
    if chance.random() < 0.5:
        data = mutated_bytes(chance, data)
    return data, mutated_bytes(chance, text) if chance.random() < 0.2 else text


def _read_index(given: tuple[bytes, bytes], folder: Path) -> bool:
    data, text = given
    files = Bytes({layout.LINES: data, "stdout": text, "stderr": b"warn\n", "emit": b""})
    for line in (None, with_time, as_json):
        LogStream(files, layout.STREAMS, line=line).copy(io.BytesIO(), last=True)
    time_index.is_complete(files)
    record = HandmadeRecord(folder)
    (folder / layout.LINES).write_bytes(data)
    (folder / "stdout").write_bytes(text)
    found, _ = record.extract({"m": r"m: (\S+)"}, fresh=True)
    return bool(found)


# samples


@cache
def _columns() -> samples.Columns:
    columns = samples.Columns("m", "ms")
    for number in range(50):
        columns.append(
            float(number), 1.7e9 + number, number if number % 2 else samples.NO_STEP, number % 3 - 1
        )
    return columns


def _samples(chance: random.Random) -> bytes:
    frames = [samples.HEADER]
    for _ in range(chance.choice((1, 1, 3))):
        number = chance.choice((0, 0, 1, 2**31))
        series = {"id": number, "metric": "m", "units": "ms", "labels": {"gpu": "0"}}
        frames.append(
            samples.frame(
                samples.SERIES, _json_bytes(chance, series) if chance.random() < 0.3 else _dumped(series)
            )
        )
        block = samples.block(chance.choice((number, number, 9)), _columns())
        frames.append(mutated_bytes(chance, block) if chance.random() < 0.5 else block)
        state = {"complete": True, "streams": [], "index_at": 16}
        frames.append(
            samples.frame(
                samples.STATE, _json_bytes(chance, state) if chance.random() < 0.3 else _dumped(state)
            )
        )
    chance.shuffle(frames) if chance.random() < 0.1 else None
    data = b"".join(frames)
    return mutated_bytes(chance, data) if chance.random() < 0.5 else data


def _read_samples(data: bytes, _folder: Path) -> bool:
    files = Bytes({layout.SAMPLES: data, layout.EXIT: _dumped(EXIT), "stdout": b"x\n"})
    samples.settled_end(files, 0)
    blocks = blocks_of(Record(files).samples())
    for _ in samples.iterate(files):
        pass
    measured = [Measured(repeat=0, wall_s=1, cpu_s=1, peak_process_bytes=None)]
    points_of(_run(), blocks, measured, "f")
    return True


# telemetry

_TELEMETRY_COLUMNS = (*(column for column, _, _ in LIMITS), "tree_memory", "gpu0_throttle_reasons")


def _telemetry(chance: random.Random) -> bytes:
    columns = [(name, "1") for name in _TELEMETRY_COLUMNS]
    first = telemetry.header(columns, 1.0)
    if chance.random() < 0.5:
        first = _json_bytes(chance, json.loads(first)) + b"\n"
    values = (0.0, 1.0, 1e30, -1.0, float("nan"), float("inf"), 64.0)
    rows = [
        telemetry.row(1.7e9 + number, [chance.choice(values) for _ in columns])
        for number in range(chance.choice((0, 3, 30)))
    ]
    data = first + b"".join(rows)
    return mutated_bytes(chance, data) if chance.random() < 0.5 else data


def _read_telemetry(data: bytes, _folder: Path) -> bool:
    files = Bytes({layout.TELEMETRY: data})
    telemetry.settled_end(files)
    read = telemetry.Telemetry(files)
    read.largest("tree_memory", 0, 2e9)
    disturbances(read, 1.7e9, 1.7e9 + 10)
    return len(read) > 0


# result


def _result(chance: random.Random) -> dict[str, bytes]:
    files = {layout.EXIT: EXIT, layout.FACTS: FACTS, layout.METRICS: METRICS}
    made = {
        name: _json_bytes(chance, content) if chance.random() < 0.5 else _dumped(content)
        for name, content in files.items()
    }
    events = [_json_bytes(chance, event) for event in EVENTS]
    return {**made, layout.EVENTS: b"\n".join(events) + chance.choice((b"", b"\n"))}


def _read_result(files: dict[str, bytes], _folder: Path) -> bool:
    record = Record(Bytes(files))
    result = result_of(record)
    for execution in record.executions:
        record.disturbances(execution)
        assert execution.wall_s >= 0
    measured = [
        Measured(
            repeat=one.repeat, wall_s=one.wall_s, cpu_s=one.cpu_s, peak_process_bytes=one.peak_memory_bytes
        )
        for one in record.executions
        if one.measured
    ]
    points_of(_run(), [], measured, record.fingerprint)
    _explain(Metric(name="m"), record)
    tailing.last_repeat(record.files)
    tailing.last_lines(record.files, layout.EVENTS, 3)
    return result is not None and not result.is_damaged


TARGETS = {
    "emit": Target(make=_emit, read=_read_emit),
    "index": Target(make=_index, read=_read_index, needs_folder=True, refusals=(DamagedError,)),
    "samples": Target(make=_samples, read=_read_samples, refusals=(DamagedError,)),
    "telemetry": Target(make=_telemetry, read=_read_telemetry, refusals=(DamagedError,)),
    "result": Target(make=_result, read=_read_result),
}
