"""Series of a service."""

from collections.abc import Sequence

from anubis.api.alerts import alert_from_json
from anubis.api.series import series_from_json
from anubis.client.protocol import judging as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.judging.series_overview import MOST_RUNS, SeriesOverview
from anubis.model.alert import Alert


class Series(protocol.Series):
    """``Series`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def find(
        self, *, benchmark: str | None = None, metric: str | None = None, newest: int = MOST_RUNS
    ) -> Sequence[SeriesOverview]:
        given = {"benchmark": benchmark, "metric": metric, "newest": str(newest)}
        params = [(name, value) for name, value in given.items() if value is not None]
        return list(map(series_from_json, self._connection.get("series", params)["series"]))

    def analyse(self, *, benchmark: str | None = None, notify: bool = False) -> Sequence[Alert]:
        answer = self._connection.post("series/analysis", {"benchmark": benchmark, "notify": notify})
        return list(map(alert_from_json, answer["alerts"]))
