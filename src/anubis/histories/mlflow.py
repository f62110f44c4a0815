"""MLflow: the SQLite database of a tracking server (``mlflow.db``).

Format: https://github.com/mlflow/mlflow (mlflow/store/tracking/dbmodels/models.py)
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from urllib.parse import quote

from anubis.model.history import Measurement
from anubis.transfer import history_values
from anubis.transfer.history_formats import FileHead, Format, HistoryFile

_MAGIC = b"SQLite format 3\0"
_TABLES = {"experiments", "runs", "latest_metrics", "params", "tags"}
#: System metrics that MLflow records during a run; their last value is not a result of the run.
_SYSTEM = "system/%"

_RUNS = """
SELECT r.run_uuid, e.name, r.start_time, r.source_version FROM runs r JOIN experiments e USING (experiment_id)
WHERE r.lifecycle_stage = 'active' AND e.lifecycle_stage = 'active' AND r.status = 'FINISHED'
ORDER BY r.start_time, r.run_uuid
"""
_UNFINISHED = """
SELECT count(*) FROM runs WHERE lifecycle_stage = 'active' AND status <> 'FINISHED'
"""
_VALUES = "SELECT key, value, is_nan FROM latest_metrics WHERE run_uuid = ? AND key NOT LIKE ? ORDER BY key"

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
    if unfinished:
        reading.findings.warn(
            f"{unfinished} runs that failed, were stopped or are not finished were left out",
            "no action is needed",
        )
    for run, experiment, start_ms, source_version in database.execute(_RUNS):
        time_s = history_values.seconds(start_ms, 1000)
        if time_s is None:
            reading.findings.error(
                "the run has no start time", "delete the run in MLflow", path=f"runs.{run}"
            )
            continue
        tags = _pairs(database, "tags", run)
        parameters = _pairs(database, "params", run)
        for metric, raw, is_nan in database.execute(_VALUES, (run, _SYSTEM)):
            value = reading.value(None if is_nan else raw, f"runs.{run}.{metric}")
            if value is not None:
                yield Measurement(
                    benchmark=history_values.text(experiment),
                    metric=history_values.text(metric),
                    value=value,
                    time_s=time_s,
                    commit=tags.get("mlflow.source.git.commit") or history_values.text(source_version),
                    repository=tags.get("mlflow.source.git.repoURL", ""),
                    parameters=parameters,
                    run=run,
                )


def _pairs(database: sqlite3.Connection, table: str, run: str) -> dict[str, str]:
    rows = database.execute(f"SELECT key, value FROM {table} WHERE run_uuid = ? ORDER BY key", (run,))  # noqa: S608  the table is one of two constants
    return history_values.texts(dict(rows))


FORMAT = Format(name="mlflow", title="MLflow SQLite database", detect=detect, read=read)
