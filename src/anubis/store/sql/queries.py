"""Statements of listings, and parts that all statements share. ``compile`` converts them to SQL."""

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, literal_column, or_, select

from anubis.store.sql.database import list_token
from anubis.store.sql.schema import alerts, descriptors, events, labels, metrics, points, runs, words
from anubis.store.sql.tables.access import projects

_engine = words.alias("engine")
_family = words.alias("family")
#: The word of an event's kind, for conditions on ``event_rows``.
event_kind = words.alias("kind")
_actor = words.alias("actor")


def given(name: str) -> Any:
    """A parameter."""
    return bindparam(name)


def among(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Whether the column is in a list parameter."""
    return column.op("IN", precedence=5, is_comparison=True)(literal_column(f"({list_token(name)})"))


def event_rows() -> Select[Any]:
    """Events in order, without conditions."""
    return (
        select(
            events.c.seq,
            runs.c.id,
            event_kind.c.word.label("kind"),
            events.c.time_s,
            events.c.message,
            events.c.data,
            _actor.c.word.label("actor"),
        )
        .join_from(events, runs, runs.c.no == events.c.run)
        .join(event_kind, event_kind.c.id == events.c.kind)
        .outerjoin(_actor, _actor.c.id == events.c.actor)
        .order_by(events.c.seq)
    )


def alert_listing() -> Select[Any]:
    """Alerts, newest first, without conditions."""
    return select(alerts.c.body, alerts.c.version).order_by(alerts.c.opened_s.desc(), alerts.c.id)


def alert_conditions() -> dict[str, ColumnElement[bool]]:
    """The conditions of a listing of alerts."""
    return {
        "states": among(alerts.c.state, "states"),
        "benchmark": alerts.c.benchmark == given("benchmark"),
        "series_key": alerts.c.body.contains(given("series_key"), autoescape=False),
    }


def listing(*, newest_first: bool) -> Select[Any]:
    """Rows of a listing, without conditions, which are inserted before the first ORDER BY."""
    order = (runs.c.created_s.desc(), runs.c.no.desc()) if newest_first else (runs.c.created_s, runs.c.no)
    # Selected first, joined afterwards, so that sorting handles only narrow rows.
    chosen = select(runs.c.no).order_by(*order).limit(given("most")).correlate(None)
    return (
        select(
            runs.c.no,
            runs.c.id,
            descriptors.c.name,
            runs.c.status,
            runs.c.cause,
            _engine.c.word.label("engine"),
            runs.c.created_s,
            runs.c.placed_s,
            runs.c.ended_s,
            runs.c.reason,
            _family.c.word.label("family"),
            descriptors.c.labels,
            descriptors.c.subject,
            runs.c.cell,
            runs.c.overrides,
            runs.c.cost,
            runs.c.currency,
            projects.c.name.label("project"),
        )
        .join_from(runs, descriptors, descriptors.c.id == runs.c.descriptor)
        .join(_engine, _engine.c.id == runs.c.engine)
        .join(projects, projects.c.no == runs.c.project)
        .outerjoin(_family, _family.c.id == runs.c.family)
        .where(runs.c.no.in_(chosen))
        .order_by(*order)
    )


_is_of_metric = points.c.metric.in_(select(metrics.c.id).where(metrics.c.name == given("metric")))
#: The numbers of runs with a metric.
runs_of_metric = select(points.c.run).where(_is_of_metric).limit(given("most"))


def conditions() -> dict[str, ColumnElement[bool]]:
    """The conditions of a listing; ``listing.find`` joins those it needs with AND."""
    word = select(words.c.id)
    return {
        "ids": among(runs.c.id, "ids"),
        "projects": runs.c.project.in_(select(projects.c.no).where(among(projects.c.name, "projects"))),
        "statuses": among(runs.c.status, "statuses"),
        "name": runs.c.descriptor.in_(select(descriptors.c.id).where(descriptors.c.name == given("name"))),
        "subject": runs.c.descriptor.in_(
            select(descriptors.c.id).where(
                func.substr(descriptors.c.subject, literal_column("1"), func.length(given("subject")))
                == given("subject")
            )
        ),
        "label": runs.c.descriptor.in_(
            select(labels.c.descriptor).where(
                labels.c.name == given("label_name_0"), labels.c.value == given("label_value_0")
            )
        ),
        "family": runs.c.family == word.where(words.c.word == given("family")).scalar_subquery(),
        "parent": runs.c.parent == given("parent"),
        "owner": runs.c.client == word.where(words.c.word == given("owner")).scalar_subquery(),
        # Looks at one run after the other and stops at the limit, because many have the metric. With OFFSET, PostgreSQL
        # does not read all points of the metric first.
        "metric": select(points.c.run)
        .where(points.c.run == runs.c.no, _is_of_metric)
        .correlate(runs)
        .offset(literal_column("0"))
        .exists(),
        "numbers": among(runs.c.no, "numbers"),
        "since_s": runs.c.created_s >= given("since_s"),
        "until_s": runs.c.created_s < given("until_s"),
        # The first comparison lets the database begin at this place of the index.
        "after_newest": and_(
            runs.c.created_s <= given("after_s"),
            or_(runs.c.created_s < given("after_s"), runs.c.no < given("after_no")),
        ),
        "after_oldest": and_(
            runs.c.created_s >= given("after_s"),
            or_(runs.c.created_s > given("after_s"), runs.c.no > given("after_no")),
        ),
    }


#: The place of a run in listings.
listed_place = select(runs.c.created_s, runs.c.no).where(runs.c.id == given("id"))


#: The values of the runs of a listing.
listed_values = (
    select(points.c.run, metrics.c.name, metrics.c.units, points.c.value)
    .join_from(points, metrics, metrics.c.id == points.c.metric)
    .where(among(points.c.run, "numbers"))
)
