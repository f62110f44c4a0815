"""Verdicts and comparisons. Effects are ratios minus one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from anubis.analysis.verdict_text import next_step, render
from anubis.api.json_values import Json
from anubis.model.plain import from_plain
from anubis.model.verdict import Comparison, Verdict


def verdict_to_json(verdict: Verdict) -> Json:
    """A verdict, the line that states it and the next step."""
    return {**asdict(verdict), "text": render(verdict), "next_step": next_step(verdict)}


def verdict_from_json(plain: Mapping[str, Any]) -> Verdict:
    return from_plain(Verdict, plain)


def comparison_to_json(comparison: Comparison, *, baseline: Sequence[str], contender: Sequence[str]) -> Json:
    """A comparison of two sets of runs, given by their ids."""
    return {
        "baseline": list(baseline),
        "contender": list(contender),
        "verdicts": [verdict_to_json(verdict) for verdict in comparison.verdicts],
        "mean_effect": comparison.mean_effect,
        "mean_interval": comparison.mean_interval,
        "mean_count": comparison.mean_count,
    }


def comparison_from_json(plain: Mapping[str, Any]) -> Comparison:
    return from_plain(Comparison, plain)
