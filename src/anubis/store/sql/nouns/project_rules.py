"""Statements about permissions, quotas and secrets of projects. ``compile`` turns them into the SQL of each database."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import ColumnElement, Executable, delete, func, literal_column, or_, select, update

from anubis.model.status import Status
from anubis.store.sql.codes import STATUS_CODES
from anubis.store.sql.queries import among, given
from anubis.store.sql.schema import runs
from anubis.store.sql.tables.access import project_days, project_secrets, projects

_first_started: ColumnElement[int] = literal_column(str(STATUS_CODES[Status.WATCH]))
_one: ColumnElement[Any] = literal_column("1")
_LIMITS = ("max_running", "max_waiting", "max_per_day", "max_record_bytes", "max_run_s")


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """By name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    return _rules() | _counts(upsert) | _secrets(upsert)


def _rules() -> dict[str, Executable]:
    named = projects.c.name == given("name")
    return {
        "project": select(projects).where(named),
        # Changes nothing, but a second transaction waits here until the first one has ended.
        "lock_projects": update(projects).values(weight=projects.c.weight),
        "put_permits": update(projects).where(named).values(permits=given("permits")),
        "put_quota": update(projects).where(named).values({name: given(name) for name in _LIMITS}),
        "limited_projects": select(projects.c.no).where(projects.c.max_running.is_not(None)).limit(_one),
        "lock_limits": select(projects.c.no)
        .where(projects.c.max_running.is_not(None))
        .order_by(projects.c.no)
        .with_for_update(),
        "quotas": select(
            projects.c.no,
            projects.c.name,
            projects.c.max_waiting,
            projects.c.max_per_day,
            projects.c.max_record_bytes,
        ).where(
            among(projects.c.no, "numbers"),
            or_(*(projects.c[name].is_not(None) for name in _LIMITS[1:4])),
        ),
    }


def _counts(upsert: Callable[..., Any]) -> dict[str, Executable]:
    this = project_days.c.project == given("project")
    counted = upsert(project_days).values(project=given("project"), day=given("day"), submitted=given("new"))
    return {
        "waiting_runs": select(func.count().label("runs")).where(
            runs.c.project == given("project"), runs.c.status < _first_started
        ),
        "recorded_bytes": select(
            func.coalesce(func.sum(runs.c.record_bytes), literal_column("0")).label("size_bytes")
        ).where(runs.c.project == given("project"), runs.c.record_bytes.is_not(None)),
        "forget_project_days": delete(project_days).where(this, project_days.c.day < given("before")),
        "count_submitted": counted.on_conflict_do_update(
            index_elements=["project", "day"],
            set_={"submitted": project_days.c.submitted + counted.excluded.submitted},
        ).returning(project_days.c.submitted),
        "forget_record_bytes": update(runs)
        .where(among(runs.c.no, "numbers"))
        .values(record_bytes=literal_column("NULL")),
    }


def _secrets(upsert: Callable[..., Any]) -> dict[str, Executable]:
    of_project = project_secrets.c.project == (
        select(projects.c.no).where(projects.c.name == given("project")).scalar_subquery()
    )
    columns = ("name", "sealed", "key", "changed_s", "actor")
    new = upsert(project_secrets).values({name: given(name) for name in ("project", *columns)})
    return {
        "put_project_secret": new.on_conflict_do_update(
            index_elements=["project", "name"], set_={name: new.excluded[name] for name in columns[1:]}
        ),
        "project_secret_names": select(
            project_secrets.c.name, project_secrets.c.changed_s, project_secrets.c.actor
        )
        .where(of_project)
        .order_by(project_secrets.c.name),
        "project_secret": select(project_secrets.c.sealed, project_secrets.c.key).where(
            of_project, project_secrets.c.name == given("name")
        ),
        "secret_keys": select(project_secrets.c.key).distinct().order_by(project_secrets.c.key),
        "remove_project_secret": delete(project_secrets)
        .where(of_project, project_secrets.c.name == given("name"))
        .returning(project_secrets.c.name),
    }
