"""Writes ``sqlite.sql`` and ``postgresql.sql``: all statements of the store for each database.

Run ``python -m anubis.store.sql.compile`` after every change of ``schema``, ``queries``, ``bulk`` or ``statements``; a test
compares them. Compiling ahead of time saves the import of SQLAlchemy (0.16 s) at every start, and the time to build statements.
"""

from pathlib import Path
from typing import Any

from sqlalchemy import Dialect, Table, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.schema import CreateIndex, CreateTable

from anubis.store.sql import bulk
from anubis.store.sql.queries import (
    alert_conditions,
    alert_listing,
    conditions,
    listed_place,
    listed_values,
    listing,
    runs_of_metric,
)
from anubis.store.sql.schema import alerts, metadata, runs, stamp
from anubis.store.sql.statements import statements

FOLDER = Path(__file__).parent
_DIALECTS: dict[str, tuple[Dialect, Any]] = {
    "sqlite": (SQLiteDialect_pysqlite(paramstyle="named"), sqlite.insert),
    "postgresql": (PGDialect_psycopg(), postgresql.insert),  # type: ignore[no-untyped-call]
}
HEAD = "-- Made by `python -m anubis.store.sql.compile` from the other modules of this folder and of nouns: change those.\n"


def compiled(database: str) -> str:
    """The file of one database: ``-- name: NAME`` above each statement."""
    dialect, upsert = _DIALECTS[database]

    def text(statement: Any) -> str:
        done = statement.compile(dialect=dialect)
        sql = str(done).strip()
        for name, value in (done.params or {}).items():
            if value is not None:  # the OFFSET that SQLite's LIMIT is given
                sql = sql.replace(f":{name}", str(value))
        return sql

    tables = [*metadata.sorted_tables, stamp]
    schema: list[Any] = [CreateTable(table) for table in tables]
    schema += [CreateIndex(i) for table in tables for i in sorted(table.indexes, key=lambda i: str(i.name))]
    found = {"create": ";\n\n".join(map(text, schema))}
    found |= {name: text(statement) for name, statement in statements(upsert).items()}
    found |= {name: text(statement) for name, statement in bulk.statements().items()}
    for name, rows in (("newest", listing(newest_first=True)), ("oldest", listing(newest_first=False))):
        found[f"list_{name}"] = text(rows)
    found |= {f"where_{name}": _where(runs, text, condition) for name, condition in conditions().items()}
    found |= {
        "listed_place": text(listed_place),
        "listed_values": text(listed_values),
        "runs_of_metric": text(runs_of_metric),
        "list_alerts": text(alert_listing()),
    }
    for name, condition in alert_conditions().items():
        found[f"where_alert_{name}"] = _where(alerts, text, condition)
    return HEAD + "".join(f"\n-- name: {name}\n{sql}\n" for name, sql in found.items())


def _where(table: Table, text: Any, condition: Any) -> str:
    return str(text(select(table).where(condition)).partition("WHERE ")[2])


def main() -> None:
    for database in _DIALECTS:
        (FOLDER / f"{database}.sql").write_text(compiled(database))


if __name__ == "__main__":
    main()
