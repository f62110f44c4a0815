"""The state of alternations."""

from anubis.alternation.judgement import State
from anubis.alternation.plan import measured_s
from anubis.analysis.samples.sequential import ALPHA
from anubis.api.json_values import Json
from anubis.api.verdicts import verdict_to_json


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
