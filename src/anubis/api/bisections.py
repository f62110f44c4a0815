"""Results of bisections."""

from anubis.api.json_values import Json
from anubis.api.verdicts import verdict_to_json
from anubis.bisection.bisect_request import BisectRequest
from anubis.bisection.bisection import BisectResult, CommitResult


def bisection_to_json(request: BisectRequest, result: BisectResult) -> Json:
    return {
        "good": request.good,
        "bad": request.bad,
        "metric": request.metric,
        "family_id": result.family_id,
        "first_bad": result.suspects[0] if len(result.suspects) == 1 else None,
        "suspects": list(result.suspects),
        "last_good": result.last_good,
        "verdict": result.verdict and verdict_to_json(result.verdict),
        "answers": [_answer_to_json(answer) for answer in result.commits],
    }


def _answer_to_json(answer: CommitResult) -> Json:
    verdict = answer.verdict
    return {
        "commit": answer.commit,
        "side": answer.side.value,
        "why": answer.why,
        "runs": verdict.n_contender if verdict else 0,
        "effect": verdict.effect if verdict else None,
        "interval": verdict.interval if verdict else None,
    }
