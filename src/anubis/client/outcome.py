"""``anubis.run``: measure one descriptor from Python."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from anubis.client.client import Client
from anubis.model.points import Point
from anubis.model.run import Run


@dataclass(frozen=True, slots=True)
class Outcome:
    """A final run and the value of each of its metrics."""

    run: Run
    #: Metric -> its point.
    values: Mapping[str, Point]


def run(
    file: str | Path,
    *,
    overrides: Mapping[str, str] | None = None,
    script: Path | None = None,
    rounds: int = 1,
) -> list[Outcome]:
    """Measure one descriptor and wait for it, from a notebook for example; one outcome for each of its runs."""
    with Client.open() as client:
        submitted = client.runs.submit([Path(file)], overrides=overrides, script=script, rounds=rounds)
        ended = client.runs.wait([each.id for each in submitted])
        points = client.results.points([each.id for each in submitted])
    return [
        Outcome(each, {point.metric: point for point in points if point.run_id == each.id}) for each in ended
    ]
