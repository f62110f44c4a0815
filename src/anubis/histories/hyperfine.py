"""hyperfine: the output of ``--export-json``.

Format: https://github.com/sharkdp/hyperfine (src/benchmark/benchmark_result.rs)
"""

import re
import statistics
from collections.abc import Iterator
from typing import Any

from anubis.model.history import Measurement
from anubis.model.metric import Better
from anubis.transfer import history_values
from anubis.transfer.history_formats import FileHead, Format, HistoryFile
from anubis.transfer.json_file import BROKEN, listing, mapping, parse

_DETECT = re.compile(r'\s*\{\s*"results"\s*:\s*\[\s*\{\s*"command"\s*:')


def detect(head: FileHead) -> bool:
    return _DETECT.match(head.text) is not None


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """For each command the median wall time, the mean user and system times and, if available, the peak memory."""
    findings = reading.findings
    document = parse(reading.path.read_bytes(), findings)
    if document is BROKEN or not (document := mapping(document, findings, "")):
        return
    time_s = reading.time_s()
    for position, raw in enumerate(listing(document.get("results"), findings, "results")):
        path = f"results[{position}]"
        result = mapping(raw, findings, path)
        command = history_values.text(result.get("command"))
        if not command:
            if result:
                findings.error("the result has no command", "add its command", path=f"{path}.command")
            continue
        codes = result.get("exit_codes")
        if isinstance(codes, list) and any(code != 0 for code in codes):
            findings.warn(
                f'"{command}" had exit codes other than 0; its times are kept', "check the command", path=path
            )
        parameters = history_values.texts(result.get("parameters"))
        for metric, value, unit, spread, count in _figures(reading, result, path):
            yield Measurement(
                benchmark=command,
                metric=metric,
                value=value,
                units=unit,
                better=Better.LOWER,
                spread=spread,
                count=count,
                time_s=time_s,
                parameters=parameters,
            )


def _figures(
    reading: HistoryFile, result: dict[str, Any], path: str
) -> Iterator[tuple[str, float, str, float | None, int]]:
    times = _numbers(result.get("times"))
    middle = reading.value(result.get("median", result.get("mean")), f"{path}.median")
    count = max(1, len(times))
    if middle is not None:
        spread = history_values.soft_number(result.get("stddev"))
        yield "time", middle, "s", spread if count > 1 else None, count
    for metric, key in (("user_time", "user"), ("system_time", "system")):
        if key in result and (mean := reading.value(result[key], f"{path}.{key}")) is not None:
            yield metric, mean, "s", None, count
    memory = _numbers(result.get("memory_usage_byte"))
    if memory:
        deviation = statistics.stdev(memory) if len(memory) > 1 else None
        yield "memory", statistics.median(memory), "B", deviation, len(memory)


def _numbers(raw: Any) -> list[float]:
    found = [history_values.soft_number(each) for each in raw] if isinstance(raw, list) else []
    return [value for value in found if value is not None]


FORMAT = Format(name="hyperfine", title="hyperfine JSON", detect=detect, read=read)
