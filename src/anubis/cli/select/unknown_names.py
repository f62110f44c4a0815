"""Which name in the conditions of a listing does not exist, if nothing matches them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from anubis.late import late
from anubis.model.errors import NotFoundError

if TYPE_CHECKING:
    from anubis.client import Client
    from anubis.reporting import name_suggestions
else:  # only needed if nothing matches
    name_suggestions = late("anubis.reporting.name_suggestions")

_LIST = "see anubis history"


def unknown_name(
    client: "Client",
    *,
    benchmark: str | None = None,
    metric: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> NotFoundError | None:
    """The error about the first name that no stored run has; None if runs have each of them."""
    names = client.runs.names()
    if benchmark is not None and benchmark not in names.benchmarks:
        return NotFoundError(
            f"no run has the benchmark {benchmark!r}",
            remedy=name_suggestions.remedy(benchmark, names.benchmarks, otherwise=_LIST),
        )
    if metric is not None and metric not in names.metrics:
        return NotFoundError(
            f"no run has the metric {metric!r}",
            remedy=name_suggestions.remedy(metric, names.metrics, otherwise=_LIST),
        )
    for label, value in (labels or {}).items():
        if label not in names.labels:
            return NotFoundError(
                f"no run has the label {label!r}",
                remedy=name_suggestions.remedy(label, names.labels, otherwise=_LIST),
            )
        if value not in names.labels[label]:
            return NotFoundError(
                f"no run has the label {label}={value}",
                remedy=name_suggestions.remedy(value, names.labels[label], otherwise=_LIST),
            )
    return None
