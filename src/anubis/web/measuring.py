"""Metrics of the service for Prometheus, and a log line for each request."""

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from anubis import __version__
from anubis.web.guard import RECORD, Receive, Scope, Send
from anubis.web.service import Service

log = logging.getLogger("anubis.web.requests")

#: Paths that programs request every few seconds; they are not logged. Neither are the parts of records, unless refused.
_QUIET = {"/healthz", "/readyz", "/metrics"}


class Measuring:
    """ASGI middleware that counts, times and logs requests."""

    def __init__(
        self, app: Callable[[Scope, Receive, Send], Awaitable[None]], registry: CollectorRegistry
    ) -> None:
        self._app = app
        labels = ("method", "route")
        self._count = Counter(
            "anubis_http_requests", "Requests by status.", (*labels, "status"), registry=registry
        )
        self._seconds = Histogram(
            "anubis_http_request_seconds", "Time to the end of the answer.", labels, registry=registry
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, start_s = 500, time.monotonic()

        async def noted(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._note(scope, status, time.monotonic() - start_s)

    def _note(self, scope: Scope, status: int, took_s: float) -> None:
        route = getattr(
            scope.get("route"), "path", "other"
        )  # paths of clients are not labels: there is no end of them
        self._count.labels(scope["method"], route, status).inc()
        self._seconds.labels(scope["method"], route).observe(took_s)
        is_shipped = status < 400 and scope["method"] != "GET" and RECORD in scope["path"]
        if scope["path"] not in _QUIET and not is_shipped:
            about = {
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "took_s": round(took_s, 6),
            }
            if run_id := scope.get("path_params", {}).get("ref"):
                about["run_id"] = run_id
            log.info("%s %s %s", scope["method"], scope["path"], status, extra=about)


class InstallationMetrics(Collector):
    """Figures of the installation, read when they are asked for."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def collect(self) -> Iterator[Metric]:
        world, drivers = self._service.installation.world, self._service.drivers
        info = GaugeMetricFamily("anubis_info", "Version of Anubis.", labels=["version"])
        info.add_metric([__version__], 1)
        yield info
        yield GaugeMetricFamily("anubis_unfinished_runs", "Runs that are not final.", world.runs.unfinished())
        yield GaugeMetricFamily("anubis_events", "Number of the newest event.", world.events.last())
        yield GaugeMetricFamily("anubis_reconcilers", "Reconcilers that work.", drivers.alive)


def registry_of(service: Service) -> CollectorRegistry:
    """A registry with the figures of the installation and of this process."""
    registry = CollectorRegistry()
    registry.register(InstallationMetrics(service))
    ProcessCollector(registry=registry)
    return registry


def text_of(registry: CollectorRegistry) -> bytes:
    """The metrics in the text format of Prometheus."""
    return generate_latest(registry)
