"""Statements about leases of runs, and which queued run is leased next.

Runs that have started take no turn. Queued runs come in the order of their turns: the runs of a project, the most urgent
first, have turns at a distance of 1 / weight, after the last turn that the project got, and not before the last turn that
any project got ("start-time fair queuing", Goyal, Vin and Cheng, 1996). So projects with queued runs start runs in
proportion to their weights, and a project without queued runs saves nothing up. The turn is stored with the run.
"""

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    and_,
    case,
    func,
    literal_column,
    not_,
    null,
    or_,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles

from anubis.model.status import Status
from anubis.store.sql.codes import FIRST_FINAL, STATUS_CODES
from anubis.store.sql.queries import among, given
from anubis.store.sql.schema import runs
from anubis.store.sql.tables.access import projects

# Spelt out, not a parameter: only then does the planner see that the partial index answers it.
_first_final: ColumnElement[int] = literal_column(str(FIRST_FINAL))
_first_started: ColumnElement[int] = literal_column(str(STATUS_CODES[Status.WATCH]))
_unfinished = runs.c.status < _first_final
_zero: ColumnElement[Any] = literal_column("0")
_one: ColumnElement[Any] = literal_column("1")
_ready = runs.alias("waiting")
_leased = runs.alias("leased")


class OneOf(ColumnElement[bool]):
    """Whether a column is in a subquery that depends on an outer row; each database searches an index for it."""

    inherit_cache = False

    def __init__(self, column: ColumnElement[Any], rows: Any) -> None:
        self.column = column
        self.rows = rows


@compiles(OneOf, "sqlite")
def _one_of_sqlite(element: OneOf, compiler: Any, **options: Any) -> str:
    return f"{compiler.process(element.column, **options)} IN {compiler.process(element.rows, **options)}"


@compiles(OneOf, "postgresql")
def _one_of_postgresql(element: OneOf, compiler: Any, **options: Any) -> str:
    column, rows = (compiler.process(each, **options) for each in (element.column, element.rows))
    return f"{column} = ANY (ARRAY{rows})"


def _is_ready(table: Any) -> ColumnElement[bool]:
    return or_(table.c.ready_s <= given("now_s"), table.c.ready_s > given("latest_lease_s"))


def _may_be_leased(table: Any, without: str | None) -> ColumnElement[bool]:
    is_due = or_(table.c.due_s <= given("now_s"), table.c.due_s > given("latest_s"))
    conditions = [table.c.status < _first_final, _is_ready(table), is_due]
    if without:
        conditions.append(not_(among(table.c.engine, without)))
    return and_(*conditions)


def _lanes() -> Any:
    """For each project the turn before its next one, and how many of its runs may start."""
    own = (
        select(func.max(_leased.c.turn))
        .where(_leased.c.project == projects.c.no, _leased.c.turn.is_not(None))
        .correlate(projects)
        .scalar_subquery()
    )
    turns = select(projects.c.no, own.label("own")).cte("turns")
    newest = select(func.coalesce(func.max(turns.c.own), _zero)).correlate(None).scalar_subquery()
    in_flight = (
        select(func.count())
        .select_from(_leased)
        .where(
            _leased.c.project == projects.c.no,
            _leased.c.status < _first_final,
            or_(
                _leased.c.status >= _first_started,
                _leased.c.holder.is_not(None),  # its process may have placed it before the lease expired
            ),
        )
        .correlate(projects)
        .scalar_subquery()
    )
    earliest = newest - _one / projects.c.weight
    return (
        select(
            projects.c.no.label("project"),
            projects.c.weight,
            case((turns.c.own >= earliest, turns.c.own), else_=earliest).label("turn"),
            case((projects.c.max_running.is_(None), null()), else_=projects.c.max_running - in_flight).label(
                "room"
            ),
        )
        .join_from(projects, turns, turns.c.no == projects.c.no)
        .cte("lanes")
    )


def _candidates(without: str | None) -> Any:
    """The first runs of each project that may be leased, with the turns that they would get."""
    lanes = _lanes()
    # Without room, only runs that need none are candidates: queued runs would take their places among the first.
    may_start = or_(
        lanes.c.room.is_(None),
        lanes.c.room > _zero,
        _ready.c.status >= _first_started,
        _ready.c.holder.is_not(None),
    )
    first = (
        select(_ready.c.no)
        .where(_ready.c.project == lanes.c.project, _may_be_leased(_ready, without), may_start)
        .order_by(_ready.c.priority.desc(), _ready.c.ready_s, _ready.c.no)
        .limit(given("most"))
        .correlate(lanes)
        .scalar_subquery()
    )
    is_queued = case((runs.c.status < _first_started, _one), else_=_zero)
    # A queued run with a holder, whose lease has expired, has its room already.
    is_new = case((and_(runs.c.status < _first_started, runs.c.holder.is_(None)), _one), else_=_zero)
    order: dict[str, Any] = {
        "partition_by": runs.c.project,
        "order_by": (runs.c.priority.desc(), runs.c.due_s, runs.c.no),
        "rows": (None, 0),
    }
    rank = func.sum(is_queued).over(**order)
    return (
        select(
            runs.c.no,
            is_queued.label("queued"),
            is_new.label("new"),
            func.sum(is_new).over(**order).label("place"),
            lanes.c.room,
            (lanes.c.turn + rank / lanes.c.weight).label("turn"),
        )
        .join_from(lanes, runs, OneOf(runs.c.no, first))
        .cte("candidates")
    )


def _claim(without: str | None = None) -> Executable:
    candidates = _candidates(without)
    ready = (
        select(runs.c.no, candidates.c.queued, candidates.c.turn)
        .join_from(candidates, runs, runs.c.no == candidates.c.no)
        .where(
            _may_be_leased(runs, None),  # again, for rows that another process leased meanwhile
            or_(
                candidates.c.new == _zero,
                candidates.c.room.is_(None),
                candidates.c.place <= candidates.c.room,
            ),
        )
        .order_by(candidates.c.queued, candidates.c.turn, runs.c.priority.desc(), runs.c.ready_s, runs.c.no)
        .limit(given("most"))
        .with_for_update(skip_locked=True, of=runs)
        .cte("ready")
    )
    turn = case((ready.c.queued == _one, ready.c.turn), else_=runs.c.turn)
    return (
        update(runs)
        .where(runs.c.no == ready.c.no)
        .values(holder=given("owner"), ready_s=given("until_s"), turn=turn)
        .returning(runs.c.no)
    )


def statements() -> dict[str, Executable]:
    """By name."""
    held = and_(_unfinished, runs.c.holder == given("owner"))
    # A queued run that is released gets a new turn.
    turn = case((runs.c.status < _first_started, null()), else_=runs.c.turn)
    free = {"holder": null(), "ready_s": runs.c.due_s, "turn": turn}
    applied = (
        "status", "cause", "attempt", "due_s", "placed_s", "ended_s", "reason", "placement",
        "phase", "phase_s", "cost", "currency",
    )  # fmt: skip
    written = {name: given(name) for name in applied}
    return {
        "claim": _claim(),
        "claim_without": _claim("engines"),
        "renew": update(runs)
        .where(held, among(runs.c.id, "ids"))
        .values(ready_s=given("until_s"))
        .returning(runs.c.id, runs.c.cancel),
        "release": update(runs).where(held, among(runs.c.id, "ids")).values(free).returning(runs.c.id),
        "release_all": update(runs).where(held).values(free).returning(runs.c.id),
        "owners": select(runs.c.holder).where(_unfinished, runs.c.holder.is_not(None)).distinct(),
        "drivers": select(runs.c.holder)
        .where(_unfinished, runs.c.holder.is_not(None), not_(_is_ready(runs)))
        .distinct(),
        "cancelled": select(runs.c.id).where(held, runs.c.cancel == literal_column("1")),
        "apply": update(runs)
        .where(runs.c.id == given("run_id"), held)
        .values(written)
        .returning(runs.c.no, runs.c.cancel),
        "apply_final": update(runs)
        .where(runs.c.id == given("run_id"), held)
        .values(written | {"ready_s": null(), "holder": null(), "record_bytes": given("record_bytes")})
        .returning(runs.c.no, runs.c.cancel),
        "request_cancel": update(runs)
        .where(_unfinished, runs.c.cancel == literal_column("0"), among(runs.c.id, "ids"))
        .values(
            cancel=literal_column("1"),
            due_s=runs.c.created_s,
            ready_s=case((runs.c.holder.is_(None), runs.c.created_s), else_=runs.c.ready_s),
        )
        .returning(runs.c.id),
    }
