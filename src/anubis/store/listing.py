"""Listings of runs: rows that match conditions, and the values of their points."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from anubis.contracts.runs import RunQuery, RunRow
from anubis.model.errors import NotFoundError
from anubis.store.rows import cause_of, cost_of, id_bytes, id_text, number, object_of
from anubis.store.sql.codes import STATUS_CODES, STATUSES
from anubis.store.sql.database import Database, Row, Session, chunked, statements_of
from anubis.store.text import clean

#: A metric of more runs is common: they are found sooner by looking at one run after the other.
_MOST_RARE = 2000


def find(database: Database, query: RunQuery) -> list[RunRow]:
    """See ``Runs.find``. Two statements, or one more for every further ten thousand runs asked for, and one for a metric."""
    sql = statements_of(database.driver.name)
    newest = query.newest_first
    with database.session() as session:
        where, values = _conditions(query, sql, _rare(session, query.metric))
        values["most"] = query.limit
        if query.after is not None:
            follows = "after_newest" if newest else "after_oldest"
            where.append(sql[f"where_{follows}"])
            values |= _place(session, query.after)
        rows = session.ask(narrowed(sql["list_newest" if newest else "list_oldest"], where), values)
        found: dict[int, dict[str, tuple[float, str]]] = {row.no: {} for row in rows}
        for numbers in chunked(found):
            for point in session.rows("listed_values", numbers=numbers):
                found[point.run][point.name] = (number(point.value), point.units)
    return [_row(row, found[row.no]) for row in rows]


def _rare(session: Session, metric: str | None) -> list[int] | None:
    """The numbers of the runs with a metric, if they are few."""
    if metric is None:
        return None
    rows = session.rows("runs_of_metric", metric=clean(metric), most=_MOST_RARE + 1)
    return None if len(rows) > _MOST_RARE else [row.run for row in rows]


def _place(session: Session, run_id: str) -> dict[str, Any]:
    """The parameters of the conditions for runs after this one."""
    rows = session.rows("listed_place", id=id_bytes(run_id))
    if not rows:
        raise NotFoundError(
            f"the listing cannot continue after run {run_id}, which is not stored",
            remedy="start again with the first page",
        )
    return {"after_s": rows[0].created_s, "after_no": rows[0].no}


def narrowed(sql: str, where: Sequence[str]) -> str:
    """The SELECT with these conditions before its first ORDER BY."""
    head, order, tail = sql.partition(" ORDER BY ")
    conditions = "\nWHERE " + "\nAND ".join(where) if where else ""
    return head + conditions + order + tail


def _conditions(
    query: RunQuery, sql: Mapping[str, str], numbers: Sequence[int] | None
) -> tuple[list[str], dict[str, Any]]:
    """The conditions that are set, and their parameters. ``numbers``: of the runs with the metric; None: there are too many."""
    names: list[str] = []
    values: dict[str, Any] = {}
    for name, value in (
        ("ids", [id_bytes(run_id) for run_id in query.ids]),
        ("projects", None if query.projects is None else [*query.projects] or [""]),
        ("statuses", [STATUS_CODES[status] for status in query.statuses]),
        ("name", query.name and clean(query.name)),
        ("subject", query.subject and clean(query.subject)),
        ("family", query.family_id and clean(query.family_id)),
        ("parent", query.parent_id and id_bytes(query.parent_id)),
        ("owner", query.owner and clean(query.owner)),
        ("metric", clean(query.metric) if query.metric is not None and numbers is None else None),
        ("since_s", query.since_s),
        ("until_s", query.until_s),
    ):
        if value is not None and value != []:
            names.append(name)
            values[name] = value
    if numbers is not None:
        names.append("numbers")
        values["numbers"] = numbers
    where = [sql[f"where_{name}"] for name in names]
    for i, (name, value) in enumerate(query.labels.items()):
        where.append(sql["where_label"].replace("_name_0", f"_name_{i}").replace("_value_0", f"_value_{i}"))
        values |= {f"label_name_{i}": clean(name), f"label_value_{i}": clean(value)}
    return where, values


def _row(row: Row, values: dict[str, tuple[float, str]]) -> RunRow:
    return RunRow(
        id=id_text(row.id),
        name=row.name,
        status=STATUSES[row.status],
        cause=cause_of(row.cause),
        engine=row.engine,
        created_s=row.created_s,
        placed_s=row.placed_s,
        ended_s=row.ended_s,
        reason=row.reason,
        family_id=row.family,
        labels=json.loads(row.labels) if row.labels else {},
        subject=row.subject,
        cell=object_of(row.cell),
        overrides=object_of(row.overrides),
        values=values,
        cost=cost_of(row),
        project=row.project,
    )
