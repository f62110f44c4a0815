"""Results of bisections."""

from anubis.api.json_values import Json
from anubis.api.verdicts import verdict_to_json
from anubis.bisection.bisect_request import BisectRequest
from anubis.bisection.bisection import BisectResult, CommitResult


def bisection_to_json(question: BisectRequest, found: BisectResult) -> Json:
    return {
        "good": question.good,
        "bad": question.bad,
        "metric": question.metric,
        "family_id": question.family,
        "first_bad": found.suspects[0] if len(found.suspects) == 1 else None,
        "suspects": list(found.suspects),
        "last_good": found.last_good,
        "verdict": found.verdict and verdict_to_json(found.verdict),
        "answers": [_answer_to_json(answer) for answer in found.commits],
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
