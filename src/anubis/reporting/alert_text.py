"""Text of an alert, the same for every notifier in its own markup. Pure functions.

``mark`` escapes text from outside (a metric, a commit, a reason) for the markup in use, so that it is only shown;
plain text only keeps it on one line.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from anubis.analysis.quantities import apart, effect_between, levels_text, percent
from anubis.model.alert import SEVERITY_ORDER, Alert, AlertKind, AlertRow, AlertState
from anubis.reporting.markup import code, one_line, person, short_subject

#: How the effect of a level shift is estimated from the points on both sides.
ESTIMATOR = "clipped means"
#: Rows shown; the others are only counted.
MAX_ROWS = 10
_STATE_TEXTS = {
    AlertState.SUSPECTED: "suspected",
    AlertState.CONFIRMED: "",
    AlertState.ACKNOWLEDGED: "acknowledged",
    AlertState.ACCEPTED: "accepted as the new baseline",
    AlertState.MUTED: "muted",
    AlertState.RESOLVED: "resolved",
}
#: States in which a decision is still needed.
_OPEN = {AlertState.SUSPECTED, AlertState.CONFIRMED, AlertState.ACKNOWLEDGED}

Mark = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One changed metric as the cells of a table row, without markup."""

    metric: str
    #: ``912.4 -> 871.9 img/s``; of a crossed threshold the value alone: ``871.9 img/s``.
    levels: str
    #: ``-4.4 % [-5.8, -3.1]``; empty for a threshold, whose note contains it.
    effect: str
    #: Points before and after: ``10+10``.
    points: str
    #: ``1.1 %``, or text that it is not known yet; empty for a threshold.
    noise: str
    kind: str
    note: str

    def text(self) -> str:
        """The line as plain text, in the form of every verdict."""
        if self.effect:
            figures = [self.levels, self.effect, f"n={self.points} points", f"noise {self.noise}"]
        else:
            figures = [self.levels]
        text = "  ".join([self.metric, *figures, self.kind.upper()])
        return text + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """A command and its purpose."""

    command: str
    purpose: str


def key(alert: Alert) -> str:
    """The key under which a notification is sent once: the alert and its state."""
    return f"{alert.id}-{alert.state}"


def is_open(alert: Alert) -> bool:
    """Whether a decision about the alert is still needed."""
    return alert.state in _OPEN and alert.kind is not AlertKind.RECOVERY


def is_bad(alert: Alert) -> bool:
    """Whether the alert is open and a change for the worse; an improvement or an undirected change is not."""
    return is_open(alert) and alert.kind not in (AlertKind.IMPROVEMENT, AlertKind.CHANGE)


def title(alert: Alert, max_chars: int = 150, *, with_state: bool = True) -> str:
    """One line of plain text: benchmark, kind, state (with ``with_state``), subject and the most severe row."""
    words = [
        f"{one_line(alert.benchmark, 60)}: {alert.kind}",
        _STATE_TEXTS[alert.state] if with_state else "",
    ]
    if alert.first_new:
        words.append(f"at {short_subject(alert.first_new)}")
    text = " ".join(word for word in words if word)
    if rows := _most_severe_first(alert):
        first, others = rows[0], len(rows) - 1
        change = first.note if _is_bound(first) else f"{percent(first.effect, sign=True)} %"
        text += f": {one_line(first.metric, 60)} {change}"
        text += f" and {others} more" if others else ""
    return one_line(text, max_chars)


def lines(alert: Alert) -> tuple[list[Line], int]:
    """The most severe rows as cells, and the number of further rows."""
    rows = _most_severe_first(alert)
    return [_line(row) for row in rows[:MAX_ROWS]], max(0, len(rows) - MAX_ROWS)


def sentences(alert: Alert, mark: Mark = one_line) -> list[str]:
    """The state of the alert, the range of subjects and how to read the figures."""
    texts = [_state(alert, mark), _range(alert, mark)]
    if not all(_is_bound(row) for row in alert.rows):
        texts.append(
            "In brackets: the 95 % interval of the effect. n: points before + after. Noise: one standard deviation"
            " between runs."
        )
    if not is_open(alert):
        texts.append("No action is needed.")
    return [sentence for sentence in texts if sentence]


def next_steps(alert: Alert) -> list[NextStep]:
    """Commands to run next; the first one is always valid. They contain no text from outside and are safe to paste."""
    steps = [
        NextStep(command=f"anubis alerts show {alert.id}", purpose="every metric, its history and its runs")
    ]
    if not is_open(alert):
        return steps
    if not alert.rows:
        return [*steps, NextStep(command=f"anubis logs {alert.run_id}", purpose="the output of the run")]
    if alert.last_old and alert.first_new:
        bisect = f"anubis bisect --alert {alert.id}"
        steps.append(NextStep(command=bisect, purpose="find the commit inside the range"))
    accept = f"anubis alerts accept {alert.id} --why '...'"
    if all(_is_bound(row) for row in alert.rows):
        purpose = "the value is correct: close the alert, and change the bound in the descriptor"
    else:
        purpose = "the change is intended: make the new level the baseline"
    return [*steps, NextStep(command=accept, purpose=purpose)]


def decisions(alert: Alert) -> list[NextStep]:
    """Commands for a person who reads the complete alert: the next steps and the other decisions."""
    steps = next_steps(alert)[1:]
    if not is_open(alert):
        return steps
    for verb, options, purpose in (
        ("ack", "", "you are working on it"),
        ("mute", " --for 7d", "send no notices for a week"),
        ("resolve", "", "it is over or was wrong"),
    ):
        command = f"anubis alerts {verb} {alert.id}{options} --why '...'"
        steps.append(NextStep(command=command, purpose=purpose))
    return steps


def text(alert: Alert, steps: Sequence[NextStep] | None = None) -> str:
    """The complete notification as plain text, with the next steps or with ``steps``."""
    shown, more = lines(alert)
    body = [f"  {line.text()}" for line in shown]
    if more:
        body.append(f"  and {more} more")
    steps = next_steps(alert) if steps is None else steps
    width = max((len(step.command) for step in steps), default=0)
    commands = [f"  {step.command:{width}}  {step.purpose}" for step in steps]
    parts = [
        title(alert),
        "\n".join(body),
        "\n".join(sentences(alert)),
        "\n".join(["What to do next:", *commands]) if commands else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown(alert: Alert) -> str:
    """The complete notification as Markdown (GitHub and GitLab)."""
    shown, more = lines(alert)
    parts = [f"**{code(title(alert), 150)}**"]
    if shown:
        rows = ["| Metric | Before, after | Effect | n | Noise | Kind |", "|---|---|---|---|---|---|"]
        rows += [_markdown_row(line) for line in shown]
        parts.append("\n".join(rows))
    if more:
        parts.append(f"and {more} more")
    parts.append("\n".join(sentences(alert, code)))
    parts.append("\n".join(f"- `{step.command}`: {step.purpose}" for step in next_steps(alert)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _most_severe_first(alert: Alert) -> list[AlertRow]:
    return sorted(alert.rows, key=lambda row: (SEVERITY_ORDER.index(row.kind), -abs(row.effect), row.metric))


def _is_bound(row: AlertRow) -> bool:
    """Whether the row is a crossed threshold: its ``before`` is a bound and no measured level."""
    return row.kind is AlertKind.THRESHOLD


def _line(row: AlertRow) -> Line:
    units = one_line(row.units, 20)
    if _is_bound(row):
        levels, effect, noise = apart(row.after, row.before, units)[0], "", ""
    else:
        levels = levels_text(row.before, row.after, units)
        effect = effect_between(row.before, row.after, row.effect, row.interval, ESTIMATOR)
        noise = "not known yet" if row.noise_floor is None else f"{percent(row.noise_floor)} %"
    return Line(
        metric=one_line(row.metric, 80),
        levels=levels,
        effect=effect,
        points=f"{row.n_before}+{row.n_after}",
        noise=noise,
        kind=str(row.kind),
        note=one_line(row.note),
    )


def _markdown_row(line: Line) -> str:
    kind = f"{line.kind}: {code(line.note)}" if line.note else line.kind
    cells = [code(line.metric), code(line.levels), line.effect, line.points, line.noise, kind]
    return f"| {' | '.join(cells)} |"


def _state(alert: Alert, mark: Mark) -> str:
    state = _STATE_TEXTS[alert.state]
    if alert.state is AlertState.MUTED and alert.muted_until_s is not None:
        state += f" until {datetime.fromtimestamp(alert.muted_until_s, UTC):%Y-%m-%d %H:%M} UTC"
    if state and alert.actor:
        state += f" by {mark(person(alert.actor))}"
    if alert.why:
        state += f": {mark(alert.why)}" if state else mark(alert.why)
    return f"{state[:1].upper()}{state[1:]}." if state else ""


def _range(alert: Alert, mark: Mark) -> str:
    run = f"run {mark(alert.run_id)}"
    new = mark(short_subject(alert.first_new))
    if alert.last_old and alert.first_new:
        old = mark(short_subject(alert.last_old))
        text = f"Between {old} (last old) and {new} (first new)"
        if alert.earliest_old and alert.latest_new:
            wide = [mark(short_subject(subject)) for subject in (alert.earliest_old, alert.latest_new)]
            text += f", with 95 % confidence between {wide[0]} and {wide[1]}"
        return f"{text}; first seen in {run}."
    if alert.first_new:
        return f"First seen at {new}, in {run}; no older subject is known."
    return f"First seen in {run}; the descriptor has no subject, so the range of commits is unknown."
