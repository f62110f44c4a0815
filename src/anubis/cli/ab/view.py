"""Text and exit status of an alternation."""

from collections.abc import Iterator

from anubis.alternation.judgement import End, State
from anubis.analysis.quantities import effect_text, percent
from anubis.analysis.verdict_text import render
from anubis.cli import exit_codes, terminal
from anubis.cli.views import comparison_view, units
from anubis.cli.views.comparison_view import COLOURS
from anubis.cli.views.gate_view import FailOn
from anubis.model.verdict import Judgement, Verdict


def exit_code(state: State, fail_on: FailOn) -> int:
    """1 if a run failed, 5 if one was cancelled, else 3 for a regression, else 4 if asked for undecided verdicts."""
    if state.end in {End.FAILED, End.CANCELLED}:
        return exit_codes.FAILED if state.end is End.FAILED else exit_codes.CANCELLED
    judgements = {verdict.judgement for verdict in state.verdicts}
    if Judgement.REGRESSED in judgements and fail_on is not FailOn.NEVER:
        return exit_codes.REGRESSION
    if Judgement.UNDECIDED in judgements and fail_on is FailOn.UNDECIDED:
        return exit_codes.UNDECIDED
    return exit_codes.OK


def progress(state: State) -> str:
    """One line: the estimate of the metric that is open, or decided last, and the rounds that are left."""
    plan = state.alternation.plan
    parts = [f"round {state.rounds} of {plan.rounds}"]
    shown = next(iter(state.open or state.verdicts), None)
    if shown is not None:
        parts.append(shown.metric)
        if shown.effect is not None:
            parts.append(effect_text(shown.effect, shown.interval))
        parts.append(shown.judgement.value)
        if state.end is None and shown.interval is not None:
            parts.append(_left(shown, state))
    if len(state.verdicts) > 1:
        parts.append(f"{len(state.open)} of {len(state.verdicts)} metrics open")
    return "  ".join(parts)


def _left(verdict: Verdict, state: State) -> str:
    most = state.alternation.plan.rounds - state.rounds
    if verdict.more_runs is None or verdict.more_runs > most:
        return f"at most {units.counted(most, 'round')} left"
    return f"about {units.counted(verdict.more_runs, 'round')} left"


def lines(state: State) -> Iterator[str]:
    """The verdict on each metric with what would decide it, and why the alternation ended."""
    for verdict in state.verdicts:
        for line in comparison_view.in_parts(_verdict(verdict), terminal.width()):
            yield terminal.style(line, fg=COLOURS.get(verdict.judgement), bold=True)
        if verdict.judgement is Judgement.UNDECIDED:
            yield f"    {_decisive(verdict, state)}"
    yield _end(state)


def _verdict(verdict: Verdict) -> str:
    """The line of the verdict, with rounds in place of runs."""
    text = render(verdict)
    return text.replace("not enough runs", "too few rounds").replace(" more run", " more round")


def _decisive(verdict: Verdict, state: State) -> str:
    """What would decide the metric, as a sentence."""
    if verdict.interval is not None and verdict.more_runs is None:
        return (
            f"The effect is too close to the minimum effect of {percent(verdict.min_effect)} % for a decision with more"
            " rounds: make the benchmark quieter, or choose another --min-effect."
        )
    total = state.rounds + (verdict.more_runs or 0)
    if state.end is End.TIME and total <= state.alternation.plan.rounds:
        return f"About {units.counted(total, 'round')} decide this: begin again with a longer --max-time."
    even = max(total, state.alternation.plan.rounds) + total % 2
    return (
        f"About {units.counted(total, 'round')} decide this: begin again with --rounds {even}. The rounds of this"
        " alternation cannot be extended, because its error rate holds for the number that was chosen at its begin."
    )


def _end(state: State) -> str:
    plan = state.alternation.plan
    why = state.end.value if state.end else "not finished"
    if state.failed is not None:
        why = f"run {state.failed.id}: {state.failed.reason or why}"
    return f"{state.rounds} of at most {plan.rounds} rounds: {why.rstrip('.')}."
