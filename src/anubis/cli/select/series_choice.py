"""The error for options that match no series or several, with what distinguishes these."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anubis.model.descriptor import Descriptor
from anubis.model.errors import NotFoundError
from anubis.model.identity import comparable
from anubis.model.plain import to_plain
from anubis.model.points import Point

if TYPE_CHECKING:
    from anubis.client import Client


def not_one(client: "Client", newest: Sequence[Point], benchmark: str) -> NotFoundError:
    """The error for these series, given by the newest point of each."""
    if not newest:
        return NotFoundError(
            f"no series matches benchmark {benchmark!r}", remedy="list them with anubis series"
        )
    message = f"{benchmark} has {len(newest)} matching series"
    if len(metrics := {point.metric for point in newest}) > 1:
        return NotFoundError(message, remedy=f"choose with --metric: {', '.join(sorted(metrics))}")
    if len(runs := {point.series_key: point.run_id for point in newest}) > 1:
        texts = differences([client.runs.get(run_id).descriptor for run_id in runs.values()])
        choices = [f"{key[:8]} ({text})" for key, text in zip(runs, texts, strict=True)]
        return NotFoundError(message, remedy=f"choose with --series: {', '.join(sorted(choices))}")
    if len(machines := {point.fingerprint[:8] for point in newest}) > 1:
        return NotFoundError(message, remedy=f"choose with --machine: {', '.join(sorted(machines))}")
    return NotFoundError(f"{benchmark} has values in several units", remedy="see anubis history")


def differences(descriptors: Sequence[Descriptor]) -> list[str]:
    """For each descriptor the fields in which the comparable parts differ: ``env.vars.BATCH=32``."""
    fields = [dict(_flat(to_plain(comparable(descriptor)))) for descriptor in descriptors]
    paths = sorted(set().union(*fields))
    unlike = [path for path in paths if len({str(each.get(path)) for each in fields}) > 1]
    return [
        ", ".join(f"{path}={each[path]}" if path in each else f"no {path}" for path in unlike)
        for each in fields
    ]


def _flat(plain: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in plain.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
