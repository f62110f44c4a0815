"""Statements about sinks, removed events and held runs. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    Executable,
    and_,
    case,
    delete,
    func,
    insert,
    literal_column,
    null,
    or_,
    select,
    union_all,
    update,
)

from anubis.store.sql.codes import ACTIVE, FIRST_FINAL
from anubis.store.sql.queries import among, given
from anubis.store.sql.schema import event_count, events, runs, words
from anubis.store.sql.tables.events import holds, removed_events, sinks

_kind, _actor = words.alias("kind_word"), words.alias("actor_word")
#: Spelt out: the code is no parameter.
_active = sinks.c.state == literal_column(str(ACTIVE))
_last = select(event_count.c.seq).scalar_subquery()
#: All events up to this number were received by every active sink.
_floor = select(func.coalesce(func.min(sinks.c.seq), _last)).where(_active).scalar_subquery()
_rows = select(sinks, (_last - sinks.c.seq).label("behind")).order_by(sinks.c.no)
_purged = select(words.c.id).where(words.c.word == given("purged"))


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    return _sinks() | _sink_leases() | _removed_events() | _holds(upsert)


def _sinks() -> dict[str, Executable]:
    columns = [column.name for column in sinks.c if column.name not in {"no", "holder", "until_s"}]
    prefix = func.substr(sinks.c.id, literal_column("1"), func.length(given("prefix")))
    return {
        "add_sink": insert(sinks).values({name: given(name) for name in columns}).inline(),
        "sinks": _rows,
        "sink": _rows.where(prefix == given("prefix")).limit(given("most")),
        "remove_sink": delete(sinks).where(sinks.c.id == given("id")),
        "resume_sink": update(sinks)
        .where(sinks.c.id == given("id"))
        .values(
            state=literal_column(str(ACTIVE)),
            due_s=given("due_s"),
            attempts=literal_column("0"),
            error=null(),
        ),
    }


def _sink_leases() -> dict[str, Executable]:
    held = sinks.c.holder == given("owner")
    waiting = and_(_active, sinks.c.seq < _last)
    claimable_s = case((sinks.c.until_s > sinks.c.due_s, sinks.c.until_s), else_=sinks.c.due_s)
    ready = (
        select(sinks.c.no)
        .where(
            waiting,
            or_(sinks.c.due_s <= given("now_s"), sinks.c.due_s > given("latest_s")),
            or_(
                sinks.c.until_s.is_(None),
                sinks.c.until_s <= given("now_s"),
                sinks.c.until_s > given("latest_lease_s"),
            ),
        )
        .order_by(sinks.c.due_s, sinks.c.no)
        .limit(given("most"))
        .with_for_update(skip_locked=True)
        .cte("ready")
    )
    outcome = ("seq", "state", "due_s", "attempts", "error", "delivered", "delivered_s")
    free = {"holder": null(), "until_s": null()}
    return {
        "claim_sinks": update(sinks)
        .where(sinks.c.no.in_(select(ready.c.no)))
        .values(holder=given("owner"), until_s=given("until_s"))
        .returning(sinks.c.no),
        "claimed_sinks": _rows.where(among(sinks.c.no, "numbers")),
        "renew_sinks": update(sinks)
        .where(held, among(sinks.c.no, "numbers"))
        .values(until_s=given("until_s"))
        .returning(sinks.c.no),
        "release_sinks": update(sinks).where(held).values(free).returning(sinks.c.no),
        "sink_owners": select(sinks.c.holder).where(sinks.c.holder.is_not(None)).distinct(),
        "apply_sink": update(sinks)
        .where(held, sinks.c.no == given("no"))
        .values({name: given(name) for name in outcome} | free)
        .returning(sinks.c.no),
        "next_sink": select(func.min(claimable_s).label("due_s")).where(waiting),
    }


def _removed_events() -> dict[str, Executable]:
    names = ("kind", "actor", "time_s", "message", "data")
    stored = select(events.c.seq, runs.c.id.label("run"), *(events.c[name] for name in names)).join_from(
        events, runs, runs.c.no == events.c.run
    )
    removed = select(removed_events.c.seq, removed_events.c.run, *(removed_events.c[name] for name in names))
    # Each part has the limit, so that the database reads it from its index.
    parts = [
        part.where(column > given("after_seq")).order_by(column).limit(given("most")).subquery()
        for part, column in ((stored, events.c.seq), (removed, removed_events.c.seq))
    ]
    both = union_all(*(select(part) for part in parts)).subquery("both_parts")
    return {
        "all_events": select(
            both.c.seq,
            both.c.run.label("id"),
            _kind.c.word.label("kind"),
            both.c.time_s,
            both.c.message,
            both.c.data,
            _actor.c.word.label("actor"),
        )
        .join_from(both, _kind, _kind.c.id == both.c.kind)
        .outerjoin(_actor, _actor.c.id == both.c.actor)
        .order_by(both.c.seq)
        .limit(given("most")),
        "keep_events": insert(removed_events).from_select(
            ["seq", "run", *names],
            stored.where(events.c.seq > _floor, among(events.c.run, "numbers")),
        ),
        "add_removed_event": insert(removed_events).values(
            seq=given("seq"),
            run=given("run_id"),
            kind=given("kind"),
            actor=given("actor"),
            time_s=given("time_s"),
            message=given("message"),
            data=given("data"),
        ),
        "forget_removed_events": delete(removed_events).where(
            removed_events.c.seq <= _floor, removed_events.c.kind.not_in(_purged)
        ),
        "forget_events": delete(events).where(among(events.c.run, "numbers")),
    }


def _holds(upsert: Callable[..., Any]) -> dict[str, Executable]:
    this = select(runs.c.no).where(runs.c.id == given("run_id")).scalar_subquery()
    is_held = select(holds.c.run).where(holds.c.run == runs.c.no).correlate(runs).exists()
    final = and_(runs.c.status >= literal_column(str(FIRST_FINAL)), among(runs.c.id, "ids"))
    return {
        "add_hold": upsert(holds)
        .values(run=this, why=given("why"), actor=given("actor"), created_s=given("created_s"))
        .on_conflict_do_update(
            index_elements=[holds.c.run], set_={"why": given("why"), "actor": given("actor")}
        )
        .inline(),
        "remove_holds": delete(holds).where(
            holds.c.run.in_(select(runs.c.no).where(among(runs.c.id, "ids")))
        ),
        "holds": select(runs.c.id, holds.c.why, holds.c.actor, holds.c.created_s)
        .join_from(holds, runs, runs.c.no == holds.c.run)
        .order_by(holds.c.created_s, runs.c.no),
        "held": select(runs.c.id).where(among(runs.c.id, "ids"), is_held),
        "removable": select(runs.c.no, runs.c.id, runs.c.descriptor, runs.c.text).where(final, ~is_held),
    }
