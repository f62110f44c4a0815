"""The tables of daily data sets, and files of them. Needs the extra ``parquet`` (pyarrow)."""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from anubis.model.errors import AnubisError

#: Version of the columns; a column may be added without a new one.
SCHEMA = 1
#: Rows of a table, and bytes of log lines, that are held in memory at once.
ROWS, LINE_BYTES = 20_000, 8 << 20
#: Table -> column -> type. Times are float64 UTC seconds; ``data``, ``labels`` and ``cell`` are JSON.
TABLES: dict[str, dict[str, str]] = {
    "events": {
        "seq": "int64", "run_id": "string", "kind": "string", "time_s": "float64", "message": "string",
        "actor": "string", "data": "string",
    },
    "runs": {
        "run_id": "string", "name": "string", "status": "string", "cause": "string", "reason": "string",
        "engine": "string", "owner": "string", "subject": "string", "digest": "string", "series_key": "string",
        "family_id": "string", "parent_id": "string", "labels": "string", "cell": "string", "attempt": "int64",
        "created_s": "float64", "placed_s": "float64", "ended_s": "float64",
    },
    "points": {
        "run_id": "string", "series_key": "string", "fingerprint": "string", "metric": "string",
        "units": "string", "value": "float64", "spread": "float64", "count": "int64", "better": "string",
        "order_s": "float64", "subject": "string", "contaminated": "bool_",
    },
    "samples": {
        "run_id": "string", "metric": "string", "units": "string", "value": "float64", "time_s": "float64",
        "step": "int64", "repeat": "int64",
    },
    "lines": {
        "run_id": "string", "attempt": "int64", "role": "string", "rank": "int64", "number": "int64",
        "time_s": "float64", "stream": "string", "line": "string",
    },
}  # fmt: skip


def pyarrow_modules() -> tuple[Any, Any]:
    """Pyarrow and pyarrow.parquet. Raises AnubisError if they are not installed."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise AnubisError(
            "daily data sets need pyarrow, which is not installed", remedy="install anubis-bench[parquet]"
        ) from error


class TableFile:
    """A Parquet file of one table, in a temporary folder; rows are written in blocks."""

    def __init__(self, table: str, folder: Path) -> None:
        self.table = table
        self.rows = 0
        self.path = folder / f"{table}.parquet"
        self._pyarrow, parquet = pyarrow_modules()
        columns = [(name, getattr(self._pyarrow, kind)()) for name, kind in TABLES[table].items()]
        self._schema = self._pyarrow.schema(columns)
        self._writer = parquet.ParquetWriter(self.path, self._schema, compression="zstd")
        self._waiting: list[dict[str, Any]] = []
        self._waiting_bytes = 0

    def add(self, row: dict[str, Any]) -> None:
        """Write a row; missing columns are null."""
        self._waiting.append(row)
        self._waiting_bytes += len(row.get("line", ""))
        if len(self._waiting) >= ROWS or self._waiting_bytes >= LINE_BYTES:
            self._flush()

    def add_columns(self, columns: dict[str, Any], count: int) -> None:
        """Write rows that are given as columns."""
        self._flush()
        self._writer.write_table(self._pyarrow.table(columns, schema=self._schema))
        self.rows += count

    def close(self) -> None:
        """Complete the file."""
        self._flush()
        self._writer.close()

    def facts(self, path: str) -> dict[str, Any]:
        """The entry of the complete file in a manifest."""
        with self.path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        size_bytes = self.path.stat().st_size
        return {
            "table": self.table, "path": path, "rows": self.rows, "size_bytes": size_bytes, "sha256": digest
        }  # fmt: skip

    def _flush(self) -> None:
        if self._waiting:
            table = self._pyarrow.Table.from_pylist(self._waiting, schema=self._schema)
            self._writer.write_table(table)
            self.rows += len(self._waiting)
            self._waiting, self._waiting_bytes = [], 0


@contextmanager
def table_files() -> Iterator[dict[str, TableFile]]:
    """A file of each table, in a folder that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="anubis-") as folder, ExitStack() as stack:
        files = {}
        for table in TABLES:
            files[table] = TableFile(table, Path(folder))
            stack.callback(files[table].close)
        yield files


def text_of(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value, sort_keys=True)
