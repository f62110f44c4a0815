"""Series of this installation."""

from collections.abc import Sequence

from anubis.client.embedded.workers import deliver
from anubis.client.protocol import judging as protocol
from anubis.judging import series_overview
from anubis.model.alert import Alert
from anubis.wiring import Installation


class Series(protocol.Series):
    """``Series`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    def find(
        self,
        *,
        benchmark: str | None = None,
        metric: str | None = None,
        newest: int = series_overview.MOST_RUNS,
    ) -> Sequence[series_overview.SeriesOverview]:
        return series_overview.series_overviews(
            self._installation.world, benchmark=benchmark, metric=metric, newest=newest
        )

    def analyse(self, *, benchmark: str | None = None, notify: bool = False) -> Sequence[Alert]:
        changed = series_overview.rejudge(self._installation.world, benchmark=benchmark, tell=notify)
        deliver(self._installation)
        return changed
