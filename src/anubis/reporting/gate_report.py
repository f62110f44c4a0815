"""The report of a gate, and its text for people."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from anubis.analysis.quantities import levels_text, percent
from anubis.analysis.verdict_text import bound_text, next_step, verdict_effect
from anubis.model.verdict import Comparison, CrossedBound, FalseRate, Judgement, Verdict
from anubis.reporting.markup import code, one_line, short_subject

MAX_ROWS = 10
#: Undecided metrics that are named with the number of runs that would decide them.
MAX_NAMED = 3

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
    #: Number of subjects whose runs are the baseline; ``baseline`` is the newest of them. 0: there are none.
    baseline_subjects: int = 0
    #: None when a side failed.
    comparison: Comparison | None = None
    #: Which runs failed and why, one sentence; empty when both sides were measured.
    failure: str = ""
    #: Which metrics were not compared and why, one sentence; empty when all were.
    note: str = ""
    #: The bounds of the descriptor that the contender crosses.
    crossed: tuple[CrossedBound, ...] = ()
    #: Numbers of compared runs during which the machine was disturbed.
    disturbed_baseline: int = 0
    disturbed_contender: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All comparisons of one gate."""

    comparisons: tuple[BenchmarkComparison, ...]
    #: The A/A controls on the machines of the contender; None: there are none.
    controls: FalseRate | None = None

    @property
    def is_bad(self) -> bool:
        """Whether there is a failure, a crossed bound or a regression."""
        is_known = any(entry.failure or entry.crossed for entry in self.comparisons)
        return is_known or Judgement.REGRESSED in self._judgements()

    @property
    def is_undecided(self) -> bool:
        """Whether the report is not bad, and a verdict is undecided or there is none at all."""
        judgements = self._judgements()
        return not self.is_bad and (Judgement.UNDECIDED in judgements or not judgements)

    @property
    def has_changes(self) -> bool:
        """Whether a metric changed, a bound is crossed or a benchmark failed: a reason for a new comment."""
        changed = {Judgement.REGRESSED, Judgement.IMPROVED, Judgement.CHANGED}
        return self.is_bad or bool(changed & set(self._judgements()))

    def _judgements(self) -> Counter[Judgement]:
        return Counter(verdict.judgement for _, verdict in verdicts(self))


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
    if crossed := sum(len(entry.crossed) for entry in report.comparisons):
        parts.insert(0, f"{crossed} threshold{'s' * (crossed != 1)} crossed")
    if failures := sum(bool(entry.failure) for entry in report.comparisons):
        parts.insert(0, f"{failures} benchmark{'s' * (failures != 1)} failed")
    return ", ".join(parts) or "nothing was compared"


def baseline_text(entry: BenchmarkComparison) -> str:
    """The subject of the baseline; if its runs have several, their number and the newest."""
    subject = short_subject(entry.baseline)
    several = entry.baseline_subjects > 1 and subject
    return f"{entry.baseline_subjects} subjects up to {subject}" if several else subject


def disturbance(entry: BenchmarkComparison) -> str:
    """During how many of the compared runs the machine was disturbed; empty if during none."""
    sides = ((entry.disturbed_baseline, "baseline"), (entry.disturbed_contender, "contender"))
    parts = [f"{count} {side} run{'s' * (count != 1)}" for count, side in sides if count]
    return f"the machine was disturbed during {' and '.join(parts)}: see anubis show RUN" if parts else ""


def what_decides(report: Report, mark: Callable[[str], str] = one_line) -> str:
    """How many more runs would decide the undecided metrics, most runs first; empty if none can be named."""
    needed = {
        verdict.metric: verdict.more_runs
        for _, verdict in sorted(verdicts(report), key=lambda pair: pair[1].more_runs or 0)
        if verdict.judgement is Judgement.UNDECIDED and verdict.more_runs
    }
    if not needed:
        return ""
    ordered = sorted(needed.items(), key=lambda item: -item[1])
    parts = [
        f"about {count} more run{'s' * (count != 1)} for {mark(metric)}"
        for metric, count in ordered[:MAX_NAMED]
    ]
    if len(ordered) > MAX_NAMED:
        parts.append(f"fewer for {len(ordered) - MAX_NAMED} more")
    return f"To decide: {', '.join(parts)}."


def controls_text(rate: FalseRate) -> str:
    """How often controls were false on this machine, beside the published rate."""
    low, high = (percent(each) for each in rate.interval)
    text = (
        f"A/A controls on this machine: {rate.false} of {rate.count} false"
        f" ({percent(rate.false / rate.count)} % [{low}, {high}]); published: at most {percent(rate.published)} %."
    )
    return f"{text} Do not rely on verdicts of this machine: see anubis doctor." if rate.is_above else text


def markdown(report: Report) -> str:
    """The report as Markdown, of bounded length."""
    parts = [f"**Anubis: {title(report)}**"]
    failed = [entry for entry in report.comparisons if entry.failure]
    parts += [f"{code(entry.benchmark)} failed: {code(entry.failure)}" for entry in failed[:MAX_ROWS]]
    if len(failed) > MAX_ROWS:
        parts.append(f"and {len(failed) - MAX_ROWS} more failed")
    crossed = [(entry, bound) for entry in report.comparisons for bound in entry.crossed]
    parts += [
        f"{code(entry.benchmark)} crosses a threshold: {code(bound_text(bound))}"
        for entry, bound in crossed[:MAX_ROWS]
    ]
    if len(crossed) > MAX_ROWS:
        parts.append(f"and {len(crossed) - MAX_ROWS} more thresholds crossed")
    if shown := verdicts(report)[:MAX_ROWS]:
        rows = [
            "| Benchmark | Metric | Before, after | Effect | n | Noise | Verdict |",
            "|---|---|---|---|---|---|---|",
        ]
        parts.append("\n".join(rows + [_row(entry.benchmark, verdict) for entry, verdict in shown]))
        if (more := len(verdicts(report)) - len(shown)) > 0:
            parts.append(f"and {more} more")
        worst = shown[0][1]
        parts.append(f"{code(worst.metric)}: {next_step(worst)}")
    if decides := what_decides(report, code):
        parts.append(decides)
    if report.controls:
        parts.append(controls_text(report.controls))
    disturbed = [(entry, text) for entry in report.comparisons if (text := disturbance(entry))]
    parts += [f"{code(entry.benchmark)}: {text}" for entry, text in disturbed[:MAX_ROWS]]
    noted = [entry for entry in report.comparisons if entry.note]
    parts += [f"{code(entry.benchmark)}: {code(entry.note, 200)}" for entry in noted[:MAX_ROWS]]
    compared = [entry for entry in report.comparisons if entry.comparison]
    subjects = dict.fromkeys((baseline_text(entry), short_subject(entry.contender)) for entry in compared)
    parts += [
        f"Baseline {code(old)}, contender {code(new)}; in brackets the 95 % interval."
        for old, new in list(subjects)[:3]
    ]
    return "\n\n".join(parts) + "\n"


def _row(benchmark: str, verdict: Verdict) -> str:
    cells = [
        code(benchmark, 60),
        code(verdict.metric, 80),
        code(levels_text(verdict.baseline, verdict.contender, one_line(verdict.units, 20))),
        verdict_effect(verdict),
        f"{verdict.n_baseline}+{verdict.n_contender}",
        "not known yet" if verdict.noise_floor is None else f"{percent(verdict.noise_floor)} %",
        _NAMES[verdict.judgement],
    ]
    return f"| {' | '.join(cells)} |"


def _plural(kind: Judgement, count: int) -> str:
    countable = kind in (Judgement.REGRESSED, Judgement.CHANGED, Judgement.IMPROVED)
    return "s" if countable and count != 1 else ""
