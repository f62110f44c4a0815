"""Alternations and their state."""

from collections.abc import Mapping
from typing import Any

from anubis.alternation.judgement import End, State
from anubis.alternation.plan import Alternation, Plan, measured_s
from anubis.analysis.samples.sequential import ALPHA
from anubis.api.json_values import Json
from anubis.api.runs import row_from_json, row_to_json
from anubis.api.verdicts import verdict_from_json, verdict_to_json
from anubis.model.plain import from_plain, to_plain


def alternation_to_json(state: State) -> Json:
    alternation = state.alternation
    plan = alternation.plan
    return {
        "family_id": alternation.family_id,
        "files": list(plan.files),
        "rounds": state.rounds,
        "most_rounds": plan.rounds,
        "measured_s": measured_s(alternation.runs),
        "max_s": plan.max_s,
        "error_rate": ALPHA,
        "end": state.end and state.end.name.lower(),
        "failed_run": state.failed and state.failed.id,
        "verdicts": [verdict_to_json(verdict) for verdict in state.verdicts],
    }


def alternation_details_to_json(alternation: Alternation) -> Json:
    """The plan of an alternation and its runs so far, in the order of their submission."""
    return {
        "family_id": alternation.family_id,
        "plan": to_plain(alternation.plan),
        "rounds": alternation.rounds,
        "runs": list(map(row_to_json, alternation.runs)),
    }


def alternation_from_json(plain: Mapping[str, Any]) -> Alternation:
    return Alternation(
        family_id=plain["family_id"],
        plan=from_plain(Plan, plain["plan"]),
        runs=list(map(row_from_json, plain["runs"])),
    )


def state_to_json(state: State) -> Json:
    """As ``alternation_to_json``, with the runs."""
    return {**alternation_to_json(state), "alternation": alternation_details_to_json(state.alternation)}


def state_from_json(plain: Mapping[str, Any]) -> State:
    alternation = alternation_from_json(plain["alternation"])
    return State(
        alternation=alternation,
        verdicts=list(map(verdict_from_json, plain["verdicts"])),
        rounds=plain["rounds"],
        end=None if plain["end"] is None else End[plain["end"].upper()],
        failed=next((row for row in alternation.runs if row.id == plain["failed_run"]), None),
    )
