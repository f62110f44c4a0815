"""What a gate found, in a file: written by a step that runs anybody's code, posted by another that may write.

The file is the only thing that crosses from the first step to the second, so it is read as if an enemy had written
it: bounded in size, every key and type checked, and all text shown as text. What the file cannot say is where it
will be posted.
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

#: Version of the file's form.
SCHEMA = 1
#: 3,000 verdicts are 1 MB.
MOST_BYTES = 4 << 20
MOST_ROWS = 10

_GRAVITY = [
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
class Weighing:
    """One benchmark on both sides."""

    benchmark: str
    #: Subjects: commits or versions; empty when unknown.
    baseline: str
    contender: str
    #: None when a side failed.
    comparison: Comparison | None = None
    #: What went wrong, in one sentence; empty when both sides were measured.
    failure: str = ""
    #: What was not compared, and why, in one sentence; empty when everything was.
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything one gate weighed."""

    weighings: tuple[Weighing, ...]

    @property
    def is_bad(self) -> bool:
        """A regression or a failure."""
        return (
            any(weighing.failure for weighing in self.weighings) or Judgement.REGRESSED in self._judgements()
        )

    @property
    def is_undecided(self) -> bool:
        """Nothing is bad, and something, or all of it, could not be told."""
        found = self._judgements()
        return not self.is_bad and (Judgement.UNDECIDED in found or not found)

    @property
    def is_news(self) -> bool:
        """Something changed or failed: worth a comment where there is none yet."""
        changed = {Judgement.REGRESSED, Judgement.IMPROVED, Judgement.CHANGED}
        return self.is_bad or bool(changed & set(self._judgements()))

    def _judgements(self) -> Counter[Judgement]:
        return Counter(verdict.judgement for _, verdict in verdicts(self))


def verdicts(report: Report) -> list[tuple[Weighing, Verdict]]:
    """All verdicts with what they belong to, the gravest and largest first."""
    found = [
        (weighing, verdict)
        for weighing in report.weighings
        if weighing.comparison
        for verdict in weighing.comparison.verdicts
    ]
    return sorted(found, key=lambda pair: (_GRAVITY.index(pair[1].judgement), -abs(pair[1].effect or 0.0)))


def title(report: Report) -> str:
    """One line: how many metrics are judged how."""
    counts = Counter(verdict.judgement for _, verdict in verdicts(report))
    parts = [
        f"{counts[kind]} {_NAMES[kind]}{_plural(kind, counts[kind])}" for kind in _GRAVITY if counts[kind]
    ]
    if failures := sum(bool(weighing.failure) for weighing in report.weighings):
        parts.insert(0, f"{failures} benchmark{'s' * (failures != 1)} failed")
    return ", ".join(parts) or "nothing was weighed"


def markdown(report: Report) -> str:
    """The report as Markdown, of bounded length however much was weighed."""
    parts = [f"**Anubis: {title(report)}**"]
    failed = [weighing for weighing in report.weighings if weighing.failure]
    parts += [
        f"{code(weighing.benchmark)} failed: {code(weighing.failure)}" for weighing in failed[:MOST_ROWS]
    ]
    if len(failed) > MOST_ROWS:
        parts.append(f"and {len(failed) - MOST_ROWS} more failed")
    if shown := verdicts(report)[:MOST_ROWS]:
        rows = [
            "| Benchmark | Metric | Before, after | Effect | n | Noise | Verdict |",
            "|---|---|---|---|---|---|---|",
        ]
        parts.append("\n".join(rows + [_row(weighing.benchmark, verdict) for weighing, verdict in shown]))
        if (more := len(verdicts(report)) - len(shown)) > 0:
            parts.append(f"and {more} more")
        gravest = shown[0][1]
        parts.append(f"{code(gravest.metric)}: {next_step(gravest)}")
    noted = [weighing for weighing in report.weighings if weighing.note]
    parts += [f"{code(weighing.benchmark)}: {code(weighing.note, 200)}" for weighing in noted[:MOST_ROWS]]
    compared = [weighing for weighing in report.weighings if weighing.comparison]
    subjects = dict.fromkeys((weighing.baseline, weighing.contender) for weighing in compared)
    parts += [
        f"Baseline {code(short_subject(old))}, contender {code(short_subject(new))}; in brackets the 95 % interval."
        for old, new in list(subjects)[:3]
    ]
    return "\n\n".join(parts) + "\n"


def write(report: Report, path: Path) -> None:
    """Write the file that ``read`` reads."""
    plain = {"schema": SCHEMA, **_finite(to_plain(report))}
    path.write_text(json.dumps(plain, allow_nan=False) + "\n", encoding="utf-8")


def read(path: Path) -> Report:
    """The report in a file that nobody vouches for; BadInputError when anything about it is not as it must be."""
    try:
        plain = json.loads(_bytes(path))
    except (ValueError, RecursionError):
        raise _refused("it is not JSON") from None
    if not isinstance(plain, dict) or plain.pop("schema", None) != SCHEMA:
        raise _refused(f"its schema is not {SCHEMA}")
    try:
        return strict(Report, plain, "report")
    except ValueError as error:
        raise _refused(str(error)) from None


def _bytes(path: Path) -> bytes:
    """The content of a regular file of bounded size; no link is followed, no pipe or device is opened."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(f"it cannot be opened ({error.strerror})") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _refused("it is no regular file")
        with open(handle, "rb", closefd=False) as stream:
            content = stream.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
    if len(content) > MOST_BYTES:
        raise _refused(f"it is larger than {MOST_BYTES >> 20} MiB")
    return content


def _refused(why: str) -> BadInputError:
    return BadInputError(
        f"the report cannot be accepted: {why}",
        remedy="write it with this version's anubis check --report FILE",
    )


def _finite(plain: Any) -> Any:
    """Null for figures that JSON has no number for, and for an interval with such an end."""
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
