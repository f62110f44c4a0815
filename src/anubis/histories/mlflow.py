"""MLflow: a tracking server over its REST API, or the SQLite database of one (``mlflow.db``).

Formats: https://mlflow.org/docs/latest/rest-api.html and https://github.com/mlflow/mlflow
(mlflow/store/tracking/dbmodels/models.py)
"""

import base64
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from anubis.model.errors import BadInputError
from anubis.model.history import Measurement
from anubis.transfer import history_values
from anubis.transfer.history_formats import FileHead, Format, HistoryFile, HistoryServer, HistorySource
from anubis.transfer.http_json import JsonServer

_MAGIC = b"SQLite format 3\0"
_TABLES = {"experiments", "runs", "latest_metrics", "params", "tags"}
#: System metrics that MLflow records during a run; their last value is not a result of the run.
_SYSTEM = "system/"

#: Runs or experiments of one answer, and experiments of one search for runs.
_PAGE, _EXPERIMENTS = 1000, 100
#: The page of an experiment in the user interface.
_EXPERIMENT = re.compile(r"/experiments/(\d+)")
_CREDENTIALS = "set MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"

_RUNS = """
SELECT r.run_uuid, e.name, r.start_time, r.source_version FROM runs r JOIN experiments e USING (experiment_id)
WHERE r.lifecycle_stage = 'active' AND e.lifecycle_stage = 'active' AND r.status = 'FINISHED'
ORDER BY r.start_time, r.run_uuid
"""
_UNFINISHED = """
SELECT count(*) FROM runs WHERE lifecycle_stage = 'active' AND status <> 'FINISHED'
"""
_VALUES = "SELECT key, value, is_nan FROM latest_metrics WHERE run_uuid = ?"

#: UnicodeDecodeError: also of a message of SQLite that contains damaged text.
_UNREADABLE = (sqlite3.Error, UnicodeDecodeError)


def detect(head: FileHead) -> bool:
    if not head.start.startswith(_MAGIC):
        return False
    try:
        with closing(_open(head)) as database:
            return _is_mlflow(database)
    except _UNREADABLE:
        return False


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """The last value of each metric of each finished run; the parameters of the run distinguish series."""
    findings = reading.findings
    try:
        with closing(_open(reading)) as database:
            if not _is_mlflow(database):
                findings.error("the file is not an MLflow database", "give the file of --backend-store-uri")
                return
            yield from _of_runs(reading, database)
    except _UNREADABLE as error:
        findings.error(
            f"the database cannot be read: {error}", "stop other writers, then check it with sqlite3"
        )


def _open(place: FileHead | HistoryFile) -> sqlite3.Connection:
    """Open the database read-only, so that a tracking server can continue to use it."""
    return sqlite3.connect(f"file:{quote(str(place.path.resolve()))}?mode=ro", uri=True)


def _is_mlflow(database: sqlite3.Connection) -> bool:
    rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in rows} >= _TABLES


def _of_runs(reading: HistoryFile, database: sqlite3.Connection) -> Iterator[Measurement]:
    (unfinished,) = database.execute(_UNFINISHED).fetchone()
    _warn_of_unfinished(reading, unfinished)
    for run, experiment, start_ms, source_version in database.execute(_RUNS):
        yield from _measurements(
            reading,
            _Run(
                id=run,
                experiment=experiment,
                start_ms=start_ms,
                tags=_pairs(database, "tags", run),
                parameters=_pairs(database, "params", run),
                metrics=[
                    (metric, None if is_nan else value)
                    for metric, value, is_nan in database.execute(_VALUES, (run,))
                ],
                source_version=source_version,
            ),
        )


def _warn_of_unfinished(reading: HistorySource, count: int) -> None:
    if count:
        reading.findings.warn(
            f"{count} runs that failed, were stopped or are not finished were left out",
            "no action is needed",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A finished run."""

    id: str
    experiment: Any
    start_ms: Any
    tags: Mapping[str, str]
    parameters: dict[str, str]
    #: Name and value of each metric.
    metrics: Sequence[tuple[Any, Any]]
    source_version: Any = None


def _measurements(reading: HistorySource, run: _Run) -> Iterator[Measurement]:
    time_s = history_values.seconds(run.start_ms, 1000)
    if time_s is None:
        reading.findings.error("the run has no start time", "delete the run in MLflow", path=f"runs.{run.id}")
        return
    commit = run.tags.get("mlflow.source.git.commit") or history_values.text(run.source_version)
    for name, raw in sorted(run.metrics, key=lambda each: str(each[0])):
        metric = history_values.text(name)
        if metric.startswith(_SYSTEM):
            continue
        value = reading.value(raw, f"runs.{run.id}.{metric}")
        if value is not None:
            yield Measurement(
                benchmark=history_values.text(run.experiment),
                metric=metric,
                value=value,
                time_s=time_s,
                commit=commit,
                repository=run.tags.get("mlflow.source.git.repoURL", ""),
                parameters=run.parameters,
                run=run.id,
            )


def _pairs(database: sqlite3.Connection, table: str, run: str) -> dict[str, str]:
    rows = database.execute(f"SELECT key, value FROM {table} WHERE run_uuid = ? ORDER BY key", (run,))  # noqa: S608  the table is one of two constants  # nosec B608
    return history_values.texts(dict(rows))


def read_server(reading: HistoryServer) -> Iterator[Measurement]:
    """The same values from a tracking server, or from the one experiment that the address of its page names."""
    address, _, page = reading.address.partition("#")
    server = JsonServer(
        address, what="MLflow tracking server", headers=_credentials(os.environ), credentials=_CREDENTIALS
    )
    names = {
        str(each.get("experiment_id")): each.get("name")
        for each in _listed(server, "experiments", {"view_type": "ACTIVE_ONLY"})
    }
    if chosen := _EXPERIMENT.search(page):
        if chosen[1] not in names:
            raise BadInputError(
                f"{address} has no active experiment {chosen[1]}", remedy="give the address without the page"
            )
        names = {chosen[1]: names[chosen[1]]}
    ids, unfinished = sorted(names), 0
    for start in range(0, len(ids), _EXPERIMENTS):
        asked = {
            "experiment_ids": ids[start : start + _EXPERIMENTS],
            "run_view_type": "ACTIVE_ONLY",
            "order_by": ["attributes.start_time ASC"],
        }
        for run in _listed(server, "runs", asked):
            info, data = _table(run, "info"), _table(run, "data")
            if info.get("status") != "FINISHED":
                unfinished += 1
                continue
            yield from _measurements(
                reading,
                _Run(
                    id=history_values.text(info.get("run_id")),
                    experiment=names.get(str(info.get("experiment_id"))),
                    start_ms=history_values.soft_number(info.get("start_time")),
                    tags=history_values.texts(_keyed(data, "tags")),
                    parameters=history_values.texts(_keyed(data, "params")),
                    metrics=list(_keyed(data, "metrics").items()),
                ),
            )
    _warn_of_unfinished(reading, unfinished)


def _credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """The header for the credentials in the variables of MLflow's own client."""
    if token := environ.get("MLFLOW_TRACKING_TOKEN"):
        return {"Authorization": f"Bearer {token}"}
    if user := environ.get("MLFLOW_TRACKING_USERNAME"):
        pair = f"{user}:{environ.get('MLFLOW_TRACKING_PASSWORD', '')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}


def _listed(server: JsonServer, noun: str, asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All pages of a search. Raises BadInputError if the server repeats a page."""
    path, token, seen = f"api/2.0/mlflow/{noun}/search", "", set[str]()
    while True:
        page = {"page_token": token} if token else {}
        answer = server.post(path, {**asked, "max_results": _PAGE, **page})
        found = answer.get(noun, [])
        yield from (each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()
        token = str(answer.get("next_page_token") or "")
        if not token:
            return
        if token in seen:
            raise BadInputError(f"the server repeats a page of {noun}", remedy="update the MLflow server")
        seen.add(token)


def _table(plain: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = plain.get(key)
    return found if isinstance(found, dict) else {}


def _keyed(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A list of ``{"key": ..., "value": ...}`` as a mapping."""
    found = data.get(key)
    entries = found if isinstance(found, list) else []
    return {str(each.get("key")): each.get("value") for each in entries if isinstance(each, dict)}


FORMAT = Format(
    name="mlflow",
    title="MLflow tracking server, or its SQLite database",
    detect=detect,
    read=read,
    read_server=read_server,
)
