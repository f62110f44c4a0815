"""Values of runs of this installation."""

from collections.abc import Sequence

from anubis.client.embedded.references import find_run
from anubis.client.protocol import runs as protocol
from anubis.contracts.points import MetricSummary
from anubis.model.points import Point, SampleBlock
from anubis.wiring import Installation


class Results(protocol.Results):
    """``Results`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._runs = installation.world.runs
        self._points = installation.world.points

    def points(self, refs: Sequence[str]) -> Sequence[Point]:
        return self._points.of([find_run(self._runs, ref).id for ref in refs])

    def summaries(self, ref: str) -> Sequence[MetricSummary]:
        return self._points.summaries(find_run(self._runs, ref).id)

    def samples(self, ref: str, metric: str, *, most: int | None = None) -> SampleBlock:
        return self._points.samples(find_run(self._runs, ref).id, metric, most=most)
