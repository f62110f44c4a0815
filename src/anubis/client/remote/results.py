"""Values of runs of a service."""

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from anubis.api.points import columns_from_json, point_from_json, summary_from_json
from anubis.api.runs import run_from_json
from anubis.client.protocol import runs as protocol
from anubis.client.remote import following
from anubis.client.remote.connection import MOST_NAMED, ServiceConnection
from anubis.contracts.points import MetricSummary
from anubis.model.points import Point, SampleBlock
from anubis.search.samples import FollowedSamples


class Results(protocol.Results):
    """``Results`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def points(self, refs: Sequence[str]) -> Sequence[Point]:
        named = [("run", ref) for ref in refs]
        pages = [named[start : start + MOST_NAMED] for start in range(0, len(named), MOST_NAMED)]
        return [
            point_from_json(plain)
            for page in pages
            for plain in self._connection.get("points", page)["points"]
        ]

    def summaries(self, ref: str) -> Sequence[MetricSummary]:
        return list(
            map(summary_from_json, self._connection.get(f"runs/{quote(ref, safe='')}/metrics")["metrics"])
        )

    def samples_of(
        self, ref: str, metrics: Sequence[str] = (), *, most: int | None = None
    ) -> Sequence[SampleBlock]:
        params = [("metric", metric) for metric in metrics]
        params += [("most", str(most))] if most is not None else []
        answer = self._connection.get(f"runs/{quote(ref, safe='')}/samples", params)
        return list(map(columns_from_json, answer["samples"]))

    def follow(self, ref: str, metrics: Sequence[str] = ()) -> Iterator[Sequence[FollowedSamples]]:
        run_id = run_from_json(self._connection.get(f"runs/{quote(ref, safe='')}")).id
        params = [("metric", metric) for metric in metrics]
        for data in following.resumed(self._connection, f"runs/{run_id}/samples", params):
            if "samples" in data:
                yield [
                    FollowedSamples(
                        attempt=data["attempt"],
                        role=each["role"],
                        rank=each["rank"],
                        samples=columns_from_json(each),
                    )
                    for each in data["samples"]
                ]

    def samples(self, ref: str, metric: str, *, most: int | None = None) -> SampleBlock:
        params = [("metric", metric), *([("most", str(most))] if most is not None else [])]
        return columns_from_json(self._connection.get(f"runs/{quote(ref, safe='')}/sample-columns", params))
