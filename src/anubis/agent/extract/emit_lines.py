"""Reads the lines that ``emit`` wrote into a FIFO or on stdout: the old client library's protocol and its extension.

Old: one JSON object of metric -> value. Extended: ``{"anubis": 1, "m": {metric: value}, "t": UTC ns, "s": step,
"u": {metric: units}, "l": {label: value}}``, of which only ``m`` is required; a batch has lists of equal length in
``m``, and may have lists in ``s`` and ``t``. ``{"anubis": 1, "dropped": n}`` means that the writer dropped n samples.
"""

from __future__ import annotations

import json

from anubis.agent.extract.metric_buffers import MetricBuffers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Start of a line of the extended protocol.
PREFIX = b'{"anubis":1,'
#: Times beyond this, in the year 2262, are not valid.
_MOST_NS = 2**63


class Emitted:
    """Parses emitted lines into samples."""

    def __init__(self, buffers: MetricBuffers) -> None:
        self._buffers = buffers
        #: Lines of the FIFO that are not valid, and samples that writers dropped.
        self.bad_lines = 0
        self.dropped = 0

    def take(self, line: bytes, time_s: float, repeat: int) -> None:
        """Read a line of the FIFO."""
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            content = None
        if not isinstance(content, dict):
            self.bad_lines += 1
        elif content.get("anubis") == 1:
            self._take_extended(content, time_s, repeat)
        else:
            for metric, value in self._named(content):
                self._buffers[metric, None, ()].take(value, time_s, None, repeat)

    def take_stdout(self, line: bytes, time_s: float, repeat: int) -> None:
        """Read a line of stdout that starts like a JSON object.

        It was emitted if it uses the extended protocol or every value is a number; otherwise only the metrics that are
        declared without a pattern are read.
        """
        if line.startswith(PREFIX):
            self.take(line, time_s, repeat)
            return
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(content, dict):
            return
        plain = all(
            isinstance(value, (int, float)) and not isinstance(value, bool) for value in content.values()
        )
        for metric, value in self._named(content):
            report = self._buffers.reports.get(metric)
            if plain or (report and report.declared and report.pattern is None):
                self._buffers[metric, None, ()].take(value, time_s, None, repeat)

    def _named(self, metrics: dict[str, Any]) -> list[tuple[str, Any]]:
        """The metrics that have a name; a line with others counts as not valid."""
        self.bad_lines += "" in metrics
        return [(metric, value) for metric, value in metrics.items() if metric]

    def _take_extended(self, content: dict[str, Any], arrived_s: float, repeat: int) -> None:
        dropped = content.get("dropped")
        self.dropped += dropped if isinstance(dropped, int) else 0
        metrics, units, labels = content.get("m"), content.get("u"), content.get("l")
        if not isinstance(metrics, dict):
            self.bad_lines += dropped is None
            return
        key = tuple(sorted((str(k), str(v)) for k, v in labels.items())) if isinstance(labels, dict) else ()
        units = units if isinstance(units, dict) else {}
        times, steps = content.get("t"), content.get("s")
        for metric, value in self._named(metrics):
            unit = units.get(metric)
            buffer = self._buffers[metric, None if unit is None else str(unit), key]
            if isinstance(value, list):
                for figure, time_s, step in zip(
                    value, _spread(_seconds(times), arrived_s, len(value)), _spread(steps, None, len(value))
                ):
                    buffer.take(figure, time_s, step, repeat)
            else:
                buffer.take(
                    value,
                    _one(_seconds(times), arrived_s),
                    steps if not isinstance(steps, list) else None,
                    repeat,
                )


def _seconds(times: Any) -> Any:
    if isinstance(times, list):
        return [_second(time) for time in times]
    return _second(times)


def _second(time_ns: Any) -> float | None:
    return time_ns / 1e9 if isinstance(time_ns, int) and abs(time_ns) < _MOST_NS else None


def _one(value: Any, default: float) -> float:
    return value if isinstance(value, float) else default


def _spread(value: Any, default: Any, count: int) -> list[Any]:
    """One value for each of ``count`` samples: a list if its length matches, otherwise one value for all."""
    if isinstance(value, list):
        return (
            [default if item is None else item for item in value]
            if len(value) == count
            else [default] * count
        )
    return [default if value is None else value] * count
