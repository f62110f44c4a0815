"""Recorded environments as JSON."""

from collections.abc import Sequence

from anubis.api.json_values import Json
from anubis.judging.environments import Difference
from anubis.record.environment import RecordedEnvironment


def environment_to_json(environment: RecordedEnvironment) -> Json:
    """The recorded environment of a run."""
    return {
        "values": dict(environment.values),
        "digests": dict(environment.digests),
        "secrets": sorted(environment.secrets),
    }


def differences_to_json(differences: Sequence[Difference]) -> list[Json]:
    """The variables in which two sides differ; the values are null where the record keeps only digests."""
    return [
        {
            "name": each.name,
            "baseline": None if each.baseline is None else list(each.baseline),
            "contender": None if each.contender is None else list(each.contender),
        }
        for each in differences
    ]
