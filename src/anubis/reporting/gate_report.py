"""The report of a gate, as a file and as Markdown.

An untrusted CI step, which runs the code under test, writes the file; a trusted step with write access posts it. The
file is untrusted input: its size is bounded, every key and type is checked, and all text is escaped. The file does not
determine where it is posted.
"""

import json
import math
import os
import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anubis.analysis.verdict_text import effect_text, level_text, next_step, percent
from anubis.model.errors import BadInputError
from anubis.model.plain import to_plain
from anubis.model.verdict import Comparison, Judgement, Verdict
from anubis.reporting.markup import code, one_line, short_subject
from anubis.reporting.strict import strict

#: Version of the file format.
SCHEMA = 1
#: 3,000 verdicts are 1 MB.
MOST_BYTES = 4 << 20
MOST_ROWS = 10

_SEVERITY_ORDER = [
    Judgement.REGRESSED,
    Judgement.CHANGED,
    Judgement.IMPROVED,
    Judgement.UNDECIDED,
    Judgement.UNCHANGED,
]
_NAMES = {
    Judgement.REGRESSED: "regression",
    Judgement.CHANGED: "change",
    Judgement.IMPROVED: "improvement",
    Judgement.UNDECIDED: "undecided",
    Judgement.UNCHANGED: "no change",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkComparison:
    """The comparison of one benchmark: all its metrics on both sides."""

    benchmark: str
    #: Subjects: commits or versions; empty when unknown.
    baseline: str
    contender: str
    #: None when a side failed.
    comparison: Comparison | None = None
    #: Which runs failed and why, one sentence; empty when both sides were measured.
    failure: str = ""
    #: Which metrics were not compared and why, one sentence; empty when all were.
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All comparisons of one gate."""

    comparisons: tuple[BenchmarkComparison, ...]

    @property
    def is_bad(self) -> bool:
        """Whether there is a regression or a failure."""
        return any(entry.failure for entry in self.comparisons) or Judgement.REGRESSED in self._judgements()

    @property
    def is_undecided(self) -> bool:
        """Whether the report is not bad, and a verdict is undecided or there is none at all."""
        judgements = self._judgements()
        return not self.is_bad and (Judgement.UNDECIDED in judgements or not judgements)

    @property
    def has_changes(self) -> bool:
        """Whether a metric changed or a benchmark failed: a reason for a new comment."""
        changed = {Judgement.REGRESSED, Judgement.IMPROVED, Judgement.CHANGED}
        return self.is_bad or bool(changed & set(self._judgements()))

    def _judgements(self) -> Counter[Judgement]:
        return Counter(verdict.judgement for _, verdict in verdicts(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """The content of the file without its version. ``weighings`` is the key of version 1 of the format."""

    weighings: tuple[BenchmarkComparison, ...]


def verdicts(report: Report) -> list[tuple[BenchmarkComparison, Verdict]]:
    """All verdicts with the benchmarks they belong to, the most severe and largest first."""
    found = [
        (entry, verdict)
        for entry in report.comparisons
        if entry.comparison
        for verdict in entry.comparison.verdicts
    ]
    return sorted(
        found, key=lambda pair: (_SEVERITY_ORDER.index(pair[1].judgement), -abs(pair[1].effect or 0.0))
    )


def title(report: Report) -> str:
    """One line: the number of metrics for each judgement."""
    counts = Counter(verdict.judgement for _, verdict in verdicts(report))
    parts = [
        f"{counts[kind]} {_NAMES[kind]}{_plural(kind, counts[kind])}"
        for kind in _SEVERITY_ORDER
        if counts[kind]
    ]
    if failures := sum(bool(entry.failure) for entry in report.comparisons):
        parts.insert(0, f"{failures} benchmark{'s' * (failures != 1)} failed")
    return ", ".join(parts) or "nothing was compared"


def markdown(report: Report) -> str:
    """The report as Markdown, of bounded length."""
    parts = [f"**Anubis: {title(report)}**"]
    failed = [entry for entry in report.comparisons if entry.failure]
    parts += [f"{code(entry.benchmark)} failed: {code(entry.failure)}" for entry in failed[:MOST_ROWS]]
    if len(failed) > MOST_ROWS:
        parts.append(f"and {len(failed) - MOST_ROWS} more failed")
    if shown := verdicts(report)[:MOST_ROWS]:
        rows = [
            "| Benchmark | Metric | Before, after | Effect | n | Noise | Verdict |",
            "|---|---|---|---|---|---|---|",
        ]
        parts.append("\n".join(rows + [_row(entry.benchmark, verdict) for entry, verdict in shown]))
        if (more := len(verdicts(report)) - len(shown)) > 0:
            parts.append(f"and {more} more")
        worst = shown[0][1]
        parts.append(f"{code(worst.metric)}: {next_step(worst)}")
    noted = [entry for entry in report.comparisons if entry.note]
    parts += [f"{code(entry.benchmark)}: {code(entry.note, 200)}" for entry in noted[:MOST_ROWS]]
    compared = [entry for entry in report.comparisons if entry.comparison]
    subjects = dict.fromkeys((entry.baseline, entry.contender) for entry in compared)
    parts += [
        f"Baseline {code(short_subject(old))}, contender {code(short_subject(new))}; in brackets the 95 % interval."
        for old, new in list(subjects)[:3]
    ]
    return "\n\n".join(parts) + "\n"


def write(report: Report, path: Path) -> None:
    """Write the file that ``read`` reads."""
    plain = {"schema": SCHEMA, **_finite(to_plain(_File(weighings=report.comparisons)))}
    path.write_text(json.dumps(plain, allow_nan=False) + "\n", encoding="utf-8")


def read(path: Path) -> Report:
    """Read a report from an untrusted file. Raises BadInputError for any deviation from the format."""
    try:
        plain = json.loads(_bytes(path))
    except (ValueError, RecursionError):
        raise _refused("it is not JSON") from None
    if not isinstance(plain, dict) or plain.pop("schema", None) != SCHEMA:
        raise _refused(f"its schema is not {SCHEMA}")
    try:
        return Report(comparisons=strict(_File, plain, "report").weighings)
    except ValueError as error:
        raise _refused(str(error)) from None


def _bytes(path: Path) -> bytes:
    """The content of a regular file of bounded size. Follows no link; opens no pipe or device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(f"it cannot be opened ({error.strerror})") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _refused("it is not a regular file")
        with open(handle, "rb", closefd=False) as stream:
            content = stream.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
    if len(content) > MOST_BYTES:
        raise _refused(f"it is larger than {MOST_BYTES >> 20} MiB")
    return content


def _refused(why: str) -> BadInputError:
    return BadInputError(
        f"the report is not valid: {why}",
        remedy="write it with this version's anubis check --report FILE",
    )


def _finite(plain: Any) -> Any:
    """Replace numbers that JSON cannot represent, and intervals that contain one, by null."""
    if isinstance(plain, dict):
        return {key: _finite(item) for key, item in plain.items()}
    if isinstance(plain, list):
        items = [_finite(item) for item in plain]
        return None if None in items else items
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def _row(benchmark: str, verdict: Verdict) -> str:
    units = "" if verdict.units in ("", "none") else f" {one_line(verdict.units, 20)}"
    cells = [
        code(benchmark, 60),
        code(verdict.metric, 80),
        code(f"{level_text(verdict.baseline)} -> {level_text(verdict.contender)}{units}"),
        "none" if verdict.effect is None else effect_text(verdict.effect, verdict.interval),
        f"{verdict.n_baseline}+{verdict.n_contender}",
        "not known yet" if verdict.noise_floor is None else f"{percent(verdict.noise_floor)} %",
        _NAMES[verdict.judgement],
    ]
    return f"| {' | '.join(cells)} |"


def _plural(kind: Judgement, count: int) -> str:
    countable = kind in (Judgement.REGRESSED, Judgement.CHANGED, Judgement.IMPROVED)
    return "s" if countable and count != 1 else ""
