"""Statements about alerts and their deliveries. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    Executable,
    and_,
    case,
    delete,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    update,
)

from anubis.store.sql.codes import PENDING
from anubis.store.sql.queries import among, given
from anubis.store.sql.schema import alerts, deliveries, runs

#: Spelt out for the planner, which must see that the partial indexes apply.
_pending = deliveries.c.status == literal_column(str(PENDING))
_earlier = deliveries.alias("earlier")
#: No other delivery to the same address comes before it.
_first = ~exists().where(
    _earlier.c.status == literal_column(str(PENDING)),
    _earlier.c.address == deliveries.c.address,
    _earlier.c.no < deliveries.c.no,
)


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    return _alerts(upsert) | _deliveries(upsert) | _delivery_leases()


def _alerts(upsert: Callable[..., Any]) -> dict[str, Executable]:
    alert = upsert(alerts).values({column.name: given(column.name) for column in alerts.c})
    new = {name: alert.excluded[name] for name in ("benchmark", "state", "opened_s", "body", "version")}
    prefix = func.substr(alerts.c.id, literal_column("1"), func.length(given("prefix")))
    return {
        "put_alert": alert.on_conflict_do_update(
            index_elements=[alerts.c.id], set_=new, where=alerts.c.version == given("expected")
        ).returning(alerts.c.version),
        "alert": select(alerts.c.body, alerts.c.version)
        .where(prefix == given("prefix"))
        .order_by(alerts.c.id)
        .limit(given("most")),
    }


def _deliveries(upsert: Callable[..., Any]) -> dict[str, Executable]:
    run = select(runs.c.no).where(runs.c.id == given("run_id")).scalar_subquery()
    columns = ("alert", "state", "address", "created_s", "due_s", "status", "attempts")
    new = upsert(deliveries).values({name: given(name) for name in columns} | {"run": run})
    claimable_s = case(
        (deliveries.c.until_s > deliveries.c.due_s, deliveries.c.until_s), else_=deliveries.c.due_s
    )
    rows = select(*deliveries.c, runs.c.id).outerjoin_from(deliveries, runs, runs.c.no == deliveries.c.run)
    return {
        "add_delivery": new.on_conflict_do_update(
            index_elements=[deliveries.c.alert, deliveries.c.address],
            index_where=_pending,
            set_={name: new.excluded[name] for name in ("state", "run", "created_s")},
        ),
        "claimed_deliveries": rows.where(among(deliveries.c.no, "numbers")).order_by(deliveries.c.no),
        "next_delivery": select(func.min(claimable_s).label("due_s")).where(_pending, _first),
        "remove_deliveries": delete(deliveries).where(
            deliveries.c.status != literal_column(str(PENDING)), deliveries.c.ended_s < given("before_s")
        ),
        "deliveries": rows.where(deliveries.c.alert == given("alert")).order_by(deliveries.c.no),
    }


def _delivery_leases() -> dict[str, Executable]:
    held = and_(_pending, deliveries.c.holder == given("owner"))
    this = and_(held, deliveries.c.no == given("no"))
    free = {"holder": null(), "until_s": null()}
    outcome = ("address", "status", "attempts", "error", "due_s", "ended_s")
    ready = (
        select(deliveries.c.no)
        .where(
            _pending,
            _first,
            or_(deliveries.c.due_s <= given("now_s"), deliveries.c.due_s > given("latest_s")),
            or_(
                deliveries.c.until_s.is_(None),
                deliveries.c.until_s <= given("now_s"),
                deliveries.c.until_s > given("latest_lease_s"),
            ),
        )
        .order_by(deliveries.c.due_s, deliveries.c.no)
        .limit(given("most"))
        .with_for_update(skip_locked=True)
        .cte("ready")
    )
    return {
        "claim_deliveries": update(deliveries)
        .where(deliveries.c.no.in_(select(ready.c.no)))
        .values(holder=given("owner"), until_s=given("until_s"))
        .returning(deliveries.c.no),
        "renew_deliveries": update(deliveries)
        .where(held, among(deliveries.c.no, "numbers"))
        .values(until_s=given("until_s"))
        .returning(deliveries.c.no),
        "release_deliveries": update(deliveries).where(held).values(free).returning(deliveries.c.no),
        "delivery_owners": select(deliveries.c.holder)
        .where(_pending, deliveries.c.holder.is_not(None))
        .distinct(),
        "apply_delivery": update(deliveries)
        .where(this, deliveries.c.state == given("state"))
        .values({name: given(name) for name in outcome} | free)
        .returning(deliveries.c.run),
        "replaced_delivery": update(deliveries)
        .where(this)
        .values({"due_s": deliveries.c.created_s} | free)
        .returning(deliveries.c.run),
    }
