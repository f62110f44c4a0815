"""The verdict about a series in text, the same on pages, in reports and in mail."""

from dataclasses import dataclass

from anubis.analysis.instability_text import instability_text
from anubis.analysis.quantities import effect_text, levels_text, number, percent, scale_of
from anubis.judging.series import RECENT, subject_range
from anubis.judging.series_overview import SeriesOverview, SeriesState
from anubis.model.series import ChangePoint
from anubis.model.verdict import Judgement
from anubis.reporting.charts.data import Tone
from anubis.reporting.markup import short_subject

#: The word and the tone of each judgement.
WORDS = {
    Judgement.REGRESSED: ("worse", Tone.WORSE),
    Judgement.IMPROVED: ("better", Tone.BETTER),
    Judgement.CHANGED: ("changed", Tone.CHANGED),
    Judgement.UNCHANGED: ("no change", Tone.NEUTRAL),
    Judgement.UNDECIDED: ("undecided", Tone.UNSURE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesWords:
    """What a reader must know about a series."""

    #: One or two words: worse, better, changed, stable, suspected, unstable, new.
    word: str
    tone: Tone
    #: The verdict as a sentence without the name of the metric.
    sentence: str


def words_of(one: SeriesOverview) -> SeriesWords:
    """The verdict: no stable level, a suspected change, the last change if it is recent, or a stable level."""
    verdict, last = one.verdict, one.points[-1]
    if one.state is SeriesState.UNSTABLE:
        found = verdict.instability
        why = (
            instability_text(found, last.units)
            if found is not None
            else "its level changes while the subject stays the same"
        )
        return SeriesWords(word="unstable", tone=Tone.UNSURE, sentence=why)
    if verdict.suspected is not None:
        text = f"{change_text(one, verdict.suspected)}; more runs must confirm it"
        return SeriesWords(word="suspected", tone=Tone.UNSURE, sentence=text)
    if verdict.changes and verdict.changes[-1].index >= len(one.points) - RECENT:
        change = verdict.changes[-1]
        word, tone = WORDS[change.judgement]
        return SeriesWords(word=word, tone=tone, sentence=change_text(one, change))
    if one.state is SeriesState.NEW:
        return SeriesWords(
            word="new", tone=Tone.NEUTRAL, sentence=f"{len(one.points)} points are too few to find a change"
        )
    text = f"at {value_text(verdict.level, last.units)}"
    if verdict.detectable is not None:
        text += f"; ten more points find a change of {percent(verdict.detectable)} %"
    return SeriesWords(word="stable", tone=Tone.NEUTRAL, sentence=text)


def change_text(one: SeriesOverview, change: ChangePoint) -> str:
    """``-4.4 % [-5.8, -3.1] at 3f2a1c: 912.4 -> 871.9 img/s, 12 points ago``."""
    subject = short_subject(subject_range(one.points, change).first_new)
    where = f" at {subject}" if subject else ""
    levels = levels_text(change.before, change.after, one.points[-1].units)
    ago = len(one.points) - change.index
    return (
        f"{effect_text(change.effect, change.interval)}{where}: {levels}, {ago} point{'s' * (ago != 1)} ago"
    )


def value_text(value: float | None, units: str) -> str:
    """A value with its unit; empty if there is none."""
    if value is None:
        return ""
    factor, unit = scale_of(value, units)
    return f"{number(value * factor)} {unit}".rstrip()
