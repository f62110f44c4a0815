"""Buffers of the metrics during extraction: samples not yet written, and counts of rejected values."""

from __future__ import annotations

from math import isfinite

from anubis.record.samples import NO_STEP, Columns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_STEP = 2**63


class RejectedError(ValueError):
    """A text or JSON value is not a valid sample; the message is a short reason."""


def number(value: Any) -> float:
    """The finite number in a match or an emitted value. Raises RejectedError.

    Text with separators (1,000 or 1_000) is rejected, because their meaning is ambiguous.
    """
    if isinstance(value, str):
        if "_" in value or not value.isascii():
            raise RejectedError("not a number")
    elif not isinstance(value, (int, float)):
        raise RejectedError("not a number")
    try:
        result = float(value)
    except (ValueError, OverflowError):
        raise RejectedError("not a number") from None
    if not isfinite(result):
        raise RejectedError("not finite")
    return result


def step_number(value: Any) -> int:
    """The step of a match or an emitted value; NO_STEP for None. Raises RejectedError."""
    if value is None:
        return NO_STEP
    try:
        result = int(value) if not isinstance(value, str) or value.strip().isdigit() else int(number(value))
    except (ValueError, OverflowError, TypeError):
        raise RejectedError("bad step") from None
    if not -_MOST_STEP < result < _MOST_STEP:
        raise RejectedError("bad step")
    return result


class MetricBuffer:
    """One metric in one unit with one set of labels: one series of the file ``samples``."""

    __slots__ = ("columns", "labels", "number", "report")

    def __init__(self, metric: str, units: str, labels: dict[str, str], report: MetricReport) -> None:
        self.columns = Columns(metric, units)
        self.labels = labels
        self.report = report
        #: Id of the series once it is in the file.
        self.number: int | None = None

    def take(self, value: Any, time_s: float, step: Any, repeat: int) -> None:
        """Add a sample, or count the reason why the value is rejected."""
        try:
            figure = number(value)
        except RejectedError as error:
            self.report.reject(str(error), value)
            return
        try:
            counter = step_number(step)
        except RejectedError as error:  # the value itself is valid
            self.report.reject(str(error), step)
            counter = NO_STEP
        self.columns.append(figure, time_s, counter, repeat)
        self.report.count += 1

    def take_many(self, texts: list[str], times_s: list[float], repeat: int) -> None:
        """Add many matches, without steps."""
        together = "".join(texts)
        try:
            figures = list(map(float, texts))
        except ValueError:
            figures = []
        if not figures or "_" in together or not together.isascii() or not isfinite(sum(figures)):
            for text, time_s in zip(texts, times_s):
                self.take(text, time_s, None, repeat)
            return
        count = len(figures)
        columns = self.columns
        columns.values.extend(figures)
        columns.times_s.extend(times_s)
        columns.steps.extend([NO_STEP] * count)
        columns.repeats.extend([repeat] * count)
        self.report.count += count


class MetricReport:
    """The entry of one metric in metrics.json."""

    def __init__(self, units: str, pattern: str | None, declared: bool) -> None:
        self.units = units
        self.pattern = pattern
        self.declared = declared
        self.count = 0
        #: Reason -> number of rejected values, and the first of these values.
        self.rejected: dict[str, int] = {}
        self.rejected_example: str | None = None
        self.slow_lines = 0
        self.switched_off = False
        #: Why the pattern could not be compiled.
        self.error: str | None = None
        self.closest: list[str] = []

    def reject(self, reason: str, value: Any) -> None:
        """Count a rejected value."""
        self.rejected[reason] = self.rejected.get(reason, 0) + 1
        if self.rejected_example is None:
            self.rejected_example = str(value)[:100]


class MetricBuffers:
    """The buffers of all metrics, declared or emitted, by metric, units and labels."""

    def __init__(self, declared: dict[str, dict[str, Any]]) -> None:
        self.reports = {
            name: MetricReport(facts.get("units") or "none", facts.get("pattern"), True)
            for name, facts in declared.items()
        }
        self._buffers: dict[tuple[str, str, tuple[tuple[str, str], ...]], MetricBuffer] = {}

    def __getitem__(self, key: tuple[str, str | None, tuple[tuple[str, str], ...]]) -> MetricBuffer:
        """The buffer of a metric; units None: the declared units."""
        metric, units, labels = key
        report = self.reports.get(metric)
        if report is None:
            report = self.reports[metric] = MetricReport(units or "none", None, False)
        full = (metric, units or report.units, labels)
        buffer = self._buffers.get(full)
        if buffer is None:
            buffer = self._buffers[full] = MetricBuffer(metric, full[1], dict(labels), report)
        return buffer

    def with_samples(self) -> list[MetricBuffer]:
        """The buffers with samples that are not yet written."""
        return [buffer for buffer in self._buffers.values() if len(buffer.columns)]

    def restore(self, series: list[dict[str, Any]], counters: dict[str, list[Any]]) -> None:
        """Continue from the state of an earlier extraction."""
        for facts in series:
            self[facts["metric"], facts["units"], tuple(facts["labels"].items())].number = facts["id"]
        for name, values in counters.items():
            report = self.reports.setdefault(name, MetricReport("none", None, False))
            report.count, report.rejected, report.rejected_example = values

    def counters(self) -> dict[str, list[Any]]:
        """The state of each metric for ``restore``, as JSON values."""
        return {name: [r.count, r.rejected, r.rejected_example] for name, r in self.reports.items()}
