"""Text of a verdict: one line, and the next step."""

import math

from anubis.analysis.quantities import apart, effect_between, levels_text, percent
from anubis.model.verdict import CrossedBound, Judgement, Verdict

#: Minimum number of sessions of a history for an estimate of the noise between them.
FEWEST_SESSIONS = 3

_NAMES = {
    Judgement.REGRESSED: "REGRESSION",
    Judgement.IMPROVED: "IMPROVEMENT",
    Judgement.CHANGED: "CHANGE",
}


def render(verdict: Verdict) -> str:
    """The line that shows a comparison everywhere, without colour.

    ``throughput  912.4 -> 871.9 img/s  -4.4 % [-5.8, -3.1]  p=.0004  n=10+10 runs  REGRESSION (min effect 2 %)``
    """
    parts = [
        verdict.metric,
        levels_text(verdict.baseline, verdict.contender, verdict.units),
    ]
    if verdict.effect is not None:
        parts.append(verdict_effect(verdict))
    if verdict.p is not None:
        parts.append(_p(verdict.p))
    parts.append(f"n={verdict.n_baseline}+{verdict.n_contender} runs")
    parts.append(_conclusion(verdict))
    return "  ".join(parts)


def verdict_effect(verdict: Verdict) -> str:
    """The effect beside the two levels, in per cent; "none" without one."""
    if verdict.effect is None:
        return "none"
    return effect_between(
        verdict.baseline, verdict.contender, verdict.effect, verdict.interval, verdict.estimator
    )


def bound_text(crossed: CrossedBound) -> str:
    """The line of a crossed bound: ``rate  45 img/s  below its minimum of 50 img/s  THRESHOLD``."""
    value, _ = apart(crossed.value, crossed.reference, crossed.units)
    return f"{crossed.metric}  {value}  {crossed.note}  THRESHOLD"


def crossed_sentence(crossed: CrossedBound) -> str:
    """A crossed bound as a sentence: ``rate is 45 img/s, below its minimum of 50 img/s``."""
    value, _ = apart(crossed.value, crossed.reference, crossed.units)
    return f"{crossed.metric} is {value}, {crossed.note}"


def next_step(verdict: Verdict) -> str:
    """The noise floor, the effect that these runs detect, and the next step."""
    noise = _noise(verdict)
    if verdict.judgement in (Judgement.UNCHANGED, Judgement.UNDECIDED):
        return noise + _open_step(verdict)
    if verdict.judgement is Judgement.IMPROVED:
        return noise + "Accept the contender as the new baseline to hold the gain."
    return (
        noise + "Look at what changed between the two subjects, or accept the contender as the new baseline."
    )


def _open_step(verdict: Verdict) -> str:
    if verdict.effect is None:
        return "A side has no value: look at its runs without a value, then run them again."
    if verdict.judgement is Judgement.UNCHANGED:
        return "No action is needed."
    if verdict.more_sessions is not None:
        return (
            f"{_sessions(verdict.more_sessions)} of the contender decide{'s' * (verdict.more_sessions == 1)} this:"
            " run it again after a pause, because runs without a long pause between them (by default 30 minutes) are one"
            " session and share the state of the machine."
        )
    if verdict.more_runs is None:
        return (
            f"The effect is too close to the minimum effect of {_min_effect(verdict)} for a decision with more runs:"
            " make the benchmark quieter, or choose another minimum effect."
        )
    where = "of the contender in each session" if _has_session_noise(verdict) else "on each side"
    return f"Add {verdict.more_runs} run{'s' * (verdict.more_runs != 1)} {where} and compare again."


def _sessions(count: int) -> str:
    return f"{count} more session{'s' * (count != 1)}"


def _has_session_noise(verdict: Verdict) -> bool:
    """Whether the error contains the noise between sessions."""
    return verdict.sessions is not None and verdict.sessions[0] >= FEWEST_SESSIONS


def _noise(verdict: Verdict) -> str:
    if verdict.noise_floor is None:
        return "The noise between runs is not known yet. "
    text = f"Runs differ by {percent(verdict.noise_floor)} % (one standard deviation{_split(verdict)})"
    if verdict.detectable is not None and math.isfinite(verdict.detectable):
        runs = f"{verdict.n_baseline}+{verdict.n_contender}"
        text += f"; with {runs} runs, a change of {percent(verdict.detectable)} % is detected with 80 % power"
    if verdict.sessions is not None and verdict.sessions[0] < FEWEST_SESSIONS:
        text += (
            f". The noise between sessions is not part of this: the baseline has {verdict.sessions[0]} of the"
            f" {FEWEST_SESSIONS} sessions that its estimate needs, so a difference may be one of the machine's state"
        )
    if verdict.two_modes_possible:
        fewest = min(verdict.n_baseline, verdict.n_contender)
        text += (
            f". {fewest} runs without earlier values cannot exclude that the metric has two modes: six runs on each side,"
            " or six earlier values, can"
        )
    return f"{text}. {_slot(verdict)}"


def _slot(verdict: Verdict) -> str:
    """The effect of the slot, where it matters."""
    if verdict.slot_effect is None:
        return ""
    return f"The second run of a round is {slot_text(verdict.slot_effect)}; this is not part of the effect or of the noise. "


def slot_text(effect: float) -> str:
    """``3.1 % lower than the first``."""
    return f"{percent(abs(effect))} % {'higher' if effect > 0 else 'lower'} than the first"


def _split(verdict: Verdict) -> str:
    """The noise between sessions and within them, where both are known."""
    if verdict.noise_between is None or verdict.noise_within is None:
        return ""
    between, within = percent(verdict.noise_between), percent(verdict.noise_within)
    return f": {between} % between sessions, {within} % within"


def _conclusion(verdict: Verdict) -> str:
    if verdict.judgement in _NAMES:
        return f"{_NAMES[verdict.judgement]} (min effect {_min_effect(verdict)})"
    if verdict.judgement is Judgement.UNCHANGED:
        return f"no change >= {_min_effect(verdict)}"
    if verdict.effect is None:
        return "no value on one side"
    if verdict.interval is None:
        return "not enough runs"
    if verdict.more_sessions is not None:
        return f"unclear, about {_sessions(verdict.more_sessions)}"
    if verdict.more_runs is None:
        return "unclear"
    return f"unclear, about {verdict.more_runs} more run{'s' * (verdict.more_runs != 1)}"


def _min_effect(verdict: Verdict) -> str:
    return f"{100 * verdict.min_effect:g} %"


def _p(p: float) -> str:
    if p < 0.0001:
        return "p<.0001"
    digits = 4 if p < 0.001 else 3 if p < 0.1 else 2
    text = f"{p:.{digits}f}"
    return f"p={text.removeprefix('0')}" if text.startswith("0") else "p=1"
