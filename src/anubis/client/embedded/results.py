"""Values of runs of this installation."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from anubis.client.embedded.references import find_run
from anubis.client.protocol import runs as protocol
from anubis.contracts.points import MetricSummary
from anubis.late import late
from anubis.model.points import Point, SampleBlock
from anubis.wiring import Installation

if TYPE_CHECKING:
    from anubis.search import looking, samples
    from anubis.search.samples import FollowedSamples
else:
    looking = late("anubis.search.looking")
    samples = late("anubis.search.samples")


class Results(protocol.Results):
    """``Results`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._world = installation.world
        self._runs = installation.world.runs
        self._points = installation.world.points

    def points(self, refs: Sequence[str]) -> Sequence[Point]:
        return self._points.of([find_run(self._runs, ref).id for ref in refs])

    def summaries(self, ref: str) -> Sequence[MetricSummary]:
        return self._points.summaries(find_run(self._runs, ref).id)

    def samples_of(
        self, ref: str, metrics: Sequence[str] = (), *, most: int | None = None
    ) -> Sequence[SampleBlock]:
        run_id = find_run(self._runs, ref).id
        names = metrics or [each.metric for each in self._points.summaries(run_id)]
        return [self._points.samples(run_id, name, most=most) for name in names]

    def follow(self, ref: str, metrics: Sequence[str] = ()) -> "Iterator[Sequence[FollowedSamples]]":
        def start(files: "looking.FilesOf", attempt: int) -> "samples.SampleFollower":
            return samples.SampleFollower(files, samples.SamplePlace(attempt), metrics)

        return looking.followed(self._runs, self._world.records, find_run(self._runs, ref), start)

    def samples(self, ref: str, metric: str, *, most: int | None = None) -> SampleBlock:
        return self._points.samples(find_run(self._runs, ref).id, metric, most=most)
