"""The report of a gate, and its text for people."""

from collections import Counter
from dataclasses import dataclass

from anubis.analysis.verdict_text import effect_text, level_text, next_step, percent
from anubis.model.verdict import Comparison, Judgement, Verdict
from anubis.reporting.markup import code, one_line, short_subject

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
