"""The rules of projects: permissions, quotas and the names of secrets."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from anubis.contracts.service.projects import Permission, ProjectSecret, SealedValue
from anubis.model.access.permits import changed
from anubis.model.access.roles import EVERYTHING, Decision, Project, Quota
from anubis.model.errors import BadInputError, ConflictError, NotFoundError, QuotaError
from anubis.store.access.decisions import change
from anubis.store.sql.database import Database, Row, Session
from anubis.store.text import json_text

_DAY_S = 86_400
#: How long a submission waits before it may succeed, if runs must start or end first, seconds.
_LOOK_S = 30.0


class StoredProjects:
    """``Projects`` and ``SealedSecrets`` (see the contracts) in a database, and the changes of an administrator."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def permission(self, name: str) -> Permission:
        with self._database.session() as session:
            project = _get(session, name)
            secrets = session.rows("project_secret_names", project=name)
        return Permission(project=project, own_secrets=frozenset(row.name for row in secrets))

    def change_permits(
        self, name: str, *, permit: Sequence[str] = (), forbid: Sequence[str] = (), by: Decision
    ) -> Project:
        """The project with these permissions more and less. Raises BadInputError with all problems, and NotFoundError."""

        def put(session: Session) -> Project:
            session.write("lock_projects")
            after = changed(_get(session, name).permits, permit=permit, forbid=forbid)
            session.write("put_permits", name=name, permits=json_text(after))
            return _get(session, name)

        words = [
            f"{verb} {' '.join(named)}" for verb, named in (("permit", permit), ("forbid", forbid)) if named
        ]
        return change(self._database, by, ", ".join(words) or "permit nothing", name, put)

    def put_quota(self, name: str, quota: Quota, *, by: Decision) -> Project:
        """The project with another quota. Raises BadInputError for a limit below 1, and NotFoundError."""
        limits = _limits(quota)
        if wrong := [
            f"{limit} {value:g}" for limit, value in limits.items() if value is not None and value < 1
        ]:
            raise BadInputError(f"a quota cannot be {', '.join(wrong)}", remedy="use 1 or more")

        def put(session: Session) -> Project:
            session.write("lock_projects")
            session.write("put_quota", name=name, **limits)
            return _get(session, name)

        about = ", ".join(f"{limit} {value:g}" for limit, value in limits.items() if value is not None)
        return change(self._database, by, f"set quota: {about or 'none'}", name, put)

    def secrets(self, project: str) -> Sequence[ProjectSecret]:
        with self._database.session() as session:
            _get(session, project)
            rows = session.rows("project_secret_names", project=project)
        return [ProjectSecret(name=row.name, changed_s=row.changed_s, actor=row.actor) for row in rows]

    def sealed(self, project: str, name: str) -> SealedValue | None:
        rows = self._database.rows("project_secret", project=project, name=name)
        return next((SealedValue(content=bytes(row.sealed), key=row.key) for row in rows), None)

    def keys(self) -> Sequence[str]:
        return [row.key for row in self._database.rows("secret_keys")]

    def put_sealed(self, project: str, name: str, value: SealedValue, *, by: Decision) -> None:
        def put(session: Session) -> None:
            session.write("lock_projects")
            rows = session.rows("find_projects", names=[project])
            if not rows:
                raise _unknown(project)
            if others := {row.key for row in session.rows("secret_keys")} - {value.key}:
                raise ConflictError(
                    f"other secrets are encrypted with the key {min(others)}, and this one with {value.key}",
                    remedy="let ANUBIS_SECRETS_KEY name the same file for all services",
                )
            session.write(
                "put_project_secret",
                project=rows[0].no,
                name=name,
                sealed=value.content,
                key=value.key,
                changed_s=by.time_s,
                actor=by.actor,
            )

        change(self._database, by, f"set secret {name}", project, put)

    def remove_secret(self, project: str, name: str, *, by: Decision) -> None:
        def remove(session: Session) -> None:
            _get(session, project)
            if not session.rows("remove_project_secret", project=project, name=name):
                raise NotFoundError(
                    f"the project {project!r} has no secret {name!r}",
                    remedy=f"anubis secret list --project {project}",
                )

        change(self._database, by, f"delete secret {name}", project, remove)


def check_quotas(session: Session, projects: Sequence[int], now_s: float) -> None:
    """Raise QuotaError if a project may not submit so many runs, which are given as the number of the project of each.

    The caller holds the lock of all writers of runs, so two submissions cannot use the same room.
    """
    counts = Counter(projects)
    for row in session.rows("quotas", numbers=sorted(counts)):
        _check_quota(session, row, counts[row.no], now_s)


def _check_quota(session: Session, row: Row, new: int, now_s: float) -> None:
    problems: list[tuple[str, str, float]] = []
    if row.max_waiting is not None:
        waiting = session.row("waiting_runs", project=row.no).runs
        if waiting + new > row.max_waiting:
            message = f"{waiting} runs wait and {new} are added, and {row.max_waiting} may wait"
            problems.append((message, "submit them when others have started", _LOOK_S))
    if row.max_per_day is not None:
        day = int(now_s // _DAY_S)
        session.write("forget_project_days", project=row.no, before=day)
        submitted = session.row("count_submitted", project=row.no, day=day, new=new).submitted
        if submitted > row.max_per_day:
            message = (
                f"{submitted - new} runs were submitted today and {new} are added, and {row.max_per_day} are accepted"
                " on one day (UTC)"
            )
            problems.append((message, "submit them tomorrow", (day + 1) * _DAY_S - now_s))
    if row.max_record_bytes is not None:
        stored = session.row("recorded_bytes", project=row.no).size_bytes
        if stored >= row.max_record_bytes:
            message = f"the records have {stored} bytes, and {row.max_record_bytes} are accepted"
            problems.append(
                (message, "delete runs (anubis purge), or let retention rules delete records", 0.0)
            )
    if problems:
        raise QuotaError(
            f"the quota of the project {row.name!r} is used up; nothing was stored: "
            + "; ".join(message for message, _, _ in problems),
            remedy="; ".join(remedy for _, remedy, _ in problems)
            + f"; or let an administrator raise it: anubis project quota {row.name}",
            again_after_s=max(wait_s for _, _, wait_s in problems),
        )


def project_of(row: Row) -> Project:
    """A row of ``projects``."""
    return Project(
        name=row.name,
        created_s=row.created_s,
        weight=row.weight,
        permits=EVERYTHING if row.permits is None else tuple(json.loads(row.permits)),
        quota=Quota(
            running=row.max_running,
            waiting=row.max_waiting,
            per_day=row.max_per_day,
            record_bytes=row.max_record_bytes,
            run_s=row.max_run_s,
        ),
    )


def _get(session: Session, name: str) -> Project:
    rows = session.rows("project", name=name)
    if not rows:
        raise _unknown(name)
    return project_of(rows[0])


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(f"there is no project {name!r}", remedy="anubis project list shows them")


def _limits(quota: Quota) -> dict[str, Any]:
    """Parameters of ``put_quota``."""
    return {
        "max_running": quota.running,
        "max_waiting": quota.waiting,
        "max_per_day": quota.per_day,
        "max_record_bytes": quota.record_bytes,
        "max_run_s": quota.run_s,
    }
