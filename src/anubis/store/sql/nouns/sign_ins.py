"""Statements about sign-ins with a browser. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Executable, delete, insert, or_, select, update

from anubis.store.sql.queries import given
from anubis.store.sql.tables.access import users
from anubis.store.sql.tables.sign_ins import sign_in_steps, sign_ins, subjects


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    return _sign_ins() | _steps() | _subjects(upsert)


def _sign_ins() -> dict[str, Executable]:
    rows = select(
        *(column for column in sign_ins.c if column.name != "user"),
        users.c.name.label("user_name"),
        users.c.no.label("user_no"),
        users.c.disabled_s,
    ).join_from(sign_ins, users, users.c.no == sign_ins.c.user)
    this = sign_ins.c.id == given("id")
    return {
        "add_sign_in": insert(sign_ins).values(
            {
                column.name: given(column.name)
                for column in sign_ins.c
                if column.name not in {"revoked_s", "used_s"}
            }
        ),
        "sign_in": rows.where(this),
        "sign_ins": rows.order_by(sign_ins.c.created_s, sign_ins.c.id),
        "revoke_sign_in": update(sign_ins)
        .where(this, sign_ins.c.revoked_s.is_(None))
        .values(revoked_s=given("now_s"))
        .returning(sign_ins.c.id),
        "use_sign_in": update(sign_ins).where(this).values(used_s=given("now_s")),
        "forget_sign_ins": delete(sign_ins).where(
            or_(sign_ins.c.expires_s < given("before_s"), sign_ins.c.revoked_s < given("before_s"))
        ),
    }


def _steps() -> dict[str, Executable]:
    return {
        "add_step": insert(sign_in_steps).values(
            {column.name: given(column.name) for column in sign_in_steps.c}
        ),
        "take_step": delete(sign_in_steps)
        .where(sign_in_steps.c.digest == given("digest"))
        .returning(sign_in_steps.c.body, sign_in_steps.c.expires_s),
        "forget_steps": delete(sign_in_steps).where(sign_in_steps.c.expires_s <= given("now_s")),
    }


def _subjects(upsert: Callable[..., Any]) -> dict[str, Executable]:
    return {
        "subject": select(users.c.no, users.c.name, users.c.disabled_s)
        .join_from(subjects, users, users.c.no == subjects.c.user)
        .where(subjects.c.issuer == given("issuer"), subjects.c.subject == given("subject")),
        "add_subject": upsert(subjects)
        .values({column.name: given(column.name) for column in subjects.c})
        .on_conflict_do_nothing()
        .returning(subjects.c.user),
    }
