"""Parquet: the export for pandas, polars and DuckDB. Needs the extra ``parquet`` (pyarrow)."""

import itertools
from collections.abc import Iterable
from importlib import import_module
from typing import Any, BinaryIO

from anubis.model.errors import AnubisError
from anubis.model.history import COLUMNS, GROUPS, Measurement
from anubis.transfer.history_findings import Findings
from anubis.transfer.history_formats import Format

#: Rows that are held in memory at once.
_ROWS = 65_536


def write(measurements: Iterable[Measurement], stream: BinaryIO, _findings: Findings) -> None:
    """Write the columns of the CSV with types; ``parameters``, ``labels`` and ``facts`` are maps of text to text.

    Raises AnubisError if pyarrow is not installed.
    """
    try:
        pyarrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise AnubisError(
            "writing Parquet needs pyarrow, which is not installed",
            remedy="install anubis-bench[parquet], or export to csv",
        ) from error
    schema = _schema(pyarrow)
    remaining = iter(measurements)
    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        while block := list(itertools.islice(remaining, _ROWS)):
            writer.write_table(pyarrow.Table.from_pylist([_row(each) for each in block], schema=schema))


def _schema(pyarrow: Any) -> Any:
    """Column names and types; ``time_s`` and ``commit_s`` are float64 seconds."""
    kinds = {"value": pyarrow.float64(), "spread": pyarrow.float64(), "count": pyarrow.int64()}
    kinds |= {"time_s": pyarrow.float64(), "commit_s": pyarrow.float64(), "contaminated": pyarrow.bool_()}
    columns = [(name, kinds.get(name, pyarrow.string())) for name in COLUMNS]
    maps = [(name, pyarrow.map_(pyarrow.string(), pyarrow.string())) for name in GROUPS.values()]
    return pyarrow.schema(columns + maps)


def _row(measurement: Measurement) -> dict[str, Any]:
    row: dict[str, Any] = {name: getattr(measurement, name) for name in COLUMNS}
    row["better"] = measurement.better.value
    for name in GROUPS.values():
        row[name] = sorted(getattr(measurement, name).items())
    return row


FORMAT = Format(name="parquet", title="Apache Parquet", write=write)
