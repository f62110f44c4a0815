"""Every statement of the store, once, in SQLAlchemy Core. ``compile`` turns them into the SQL of each database.

Listings, which are put together from parts, are in ``queries``.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Executable,
    ScalarSelect,
    Select,
    and_,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from anubis.store.sql.codes import FIRST_FINAL
from anubis.store.sql.nouns import (
    access,
    claims,
    joined,
    logs,
    outbox,
    project_rules,
    scheduling,
    sign_ins,
    sink_statements,
    submissions,
    suites,
)
from anubis.store.sql.queries import among, event_rows, given
from anubis.store.sql.schema import (
    descriptors,
    event_count,
    events,
    labels,
    metrics,
    points,
    runs,
    samples,
    series,
    sessions,
    stamp,
    summaries,
    texts,
    words,
)
from anubis.store.sql.tables.access import projects

# Spelt out, not a parameter: only then does the planner see that the partial index answers it.
_first_final: ColumnElement[int] = literal_column(str(FIRST_FINAL))
_unfinished = runs.c.status < _first_final
_engine = words.alias("engine")
_client = words.alias("client")
_folder = words.alias("folder")
_family = words.alias("family")
_subject = words.alias("subject")
_series_key = words.alias("series_key")
_other = runs.alias("other")


def statements(upsert: Callable[..., Any]) -> dict[str, Executable]:
    """All but listings, by name. ``upsert``: the insert of a dialect that knows ON CONFLICT."""
    return (
        _dictionaries(upsert)
        | _adding(upsert)
        | claims.statements()
        | _reading()
        | _points()
        | _samples()
        | _sessions()
        | outbox.statements(upsert)
        | project_rules.statements(upsert)
        | scheduling.statements(upsert)
        | sink_statements.statements(upsert)
        | submissions.statements(upsert)
        | suites.statements(upsert)
        | access.statements(upsert)
        | sign_ins.statements(upsert)
        | logs.statements()
        | joined.statements(upsert)
    )


def _dictionaries(upsert: Callable[..., Any]) -> dict[str, Executable]:
    def remember(table: Any) -> Executable:
        columns = [column.name for column in table.c if not column.primary_key]
        new = upsert(table).values({name: given(name) for name in columns})
        done: Executable = new.on_conflict_do_nothing().inline()
        return done

    return {
        "stamp": insert(stamp).values(version_num=given("version")),
        "version": select(stamp.c.version_num),
        "first_event_count": insert(event_count).values(seq=literal_column("0")),
        "remember_word": remember(words),
        "remember_metric": remember(metrics),
        "remember_series": remember(series),
        "find_words": select(words.c.word, words.c.id).where(among(words.c.word, "words")),
        "find_metrics": select(metrics.c.name, metrics.c.units, metrics.c.id).where(
            among(metrics.c.name, "names")
        ),
        "find_series": select(series.c.series_key, series.c.fingerprint, series.c.id).where(
            among(series.c.series_key, "series_keys")
        ),
    }


def _adding(upsert: Callable[..., Any]) -> dict[str, Executable]:
    run_columns = [
        column.name
        for column in runs.c
        if column.name not in {"no", "holder", "turn", "indexed", "record_bytes"}
    ]
    new = {name: given(name) for name in ("digest", "series_key", "name", "subject", "labels", "body")}
    no = select(runs.c.no).where(runs.c.id == given("run_id")).scalar_subquery()
    return {
        "find_descriptors": select(descriptors.c.digest, descriptors.c.id).where(
            among(descriptors.c.digest, "digests")
        ),
        "add_descriptor": insert(descriptors).values(new).returning(descriptors.c.id),
        "add_label": insert(labels).values(
            name=given("name"), value=given("value"), descriptor=given("descriptor")
        ),
        "find_texts": select(texts.c.digest, texts.c.id).where(among(texts.c.digest, "digests")),
        "add_text": insert(texts).values(digest=given("digest"), body=given("body")).returning(texts.c.id),
        "known_runs": select(runs.c.id, runs.c.no).where(among(runs.c.id, "ids")),
        "final_runs": select(runs.c.id, runs.c.no).where(
            among(runs.c.id, "ids"), runs.c.status >= _first_final
        ),
        "add_run": upsert(runs)
        .values({name: given(name) for name in run_columns})
        .on_conflict_do_nothing()
        .inline(),
        "count_events": update(event_count)
        .values(seq=event_count.c.seq + given("count"))
        .returning(event_count.c.seq),
        "add_event": insert(events).values(
            seq=given("seq"),
            run=no,
            kind=given("kind"),
            actor=given("actor"),
            time_s=given("time_s"),
            message=given("message"),
            data=given("data"),
        ),
    }


def _run_rows() -> Select[Any]:
    return (
        select(
            runs.c.id,
            descriptors.c.body,
            descriptors.c.digest,
            _series_key.c.word.label("series_key"),
            _client.c.word.label("client"),
            _engine.c.word.label("engine"),
            runs.c.status,
            runs.c.created_s,
            runs.c.due_s,
            _family.c.word.label("family"),
            runs.c.parent,
            runs.c.attempt,
            runs.c.placement,
            runs.c.reason,
            runs.c.cause,
            runs.c.placed_s,
            runs.c.ended_s,
            runs.c.cancel,
            _folder.c.word.label("folder"),
            runs.c.order_s,
            runs.c.cell,
            runs.c.overrides,
            runs.c.phase,
            runs.c.phase_s,
            runs.c.cost,
            runs.c.currency,
            projects.c.name.label("project"),
            runs.c.needs,
        )
        .join_from(runs, descriptors, descriptors.c.id == runs.c.descriptor)
        .join(_series_key, _series_key.c.id == descriptors.c.series_key)
        .join(_client, _client.c.id == runs.c.client)
        .join(_engine, _engine.c.id == runs.c.engine)
        .join(projects, projects.c.no == runs.c.project)
        .outerjoin(_family, _family.c.id == runs.c.family)
        .outerjoin(_folder, _folder.c.id == runs.c.folder)
    )


def _reading() -> dict[str, Executable]:
    some_events = event_rows().where(events.c.seq > given("after_seq")).limit(given("most"))
    of_projects = among(projects.c.name, "projects")
    in_projects = runs.c.project.in_(select(projects.c.no).where(of_projects))
    described = select(runs.c.descriptor).where(in_projects)
    one = (
        _run_rows()
        .where(runs.c.id.between(given("low"), given("high")))
        .order_by(runs.c.id)
        .limit(given("most"))
    )
    return {
        "claimed": _run_rows()
        .add_columns(runs.c.turn)
        .where(among(runs.c.no, "numbers"))
        .order_by(runs.c.priority.desc(), runs.c.due_s, runs.c.no),
        "get": one,
        "get_within": one.where(of_projects),
        "neighbours": select(
            runs.c.id,
            _neighbour(_other.c.id < runs.c.id, _other.c.id.desc()).label("before"),
            _neighbour(_other.c.id > runs.c.id, _other.c.id.asc()).label("after"),
        ).where(among(runs.c.id, "ids")),
        "text": select(texts.c.body)
        .join_from(runs, texts, texts.c.id == runs.c.text)
        .where(runs.c.id == given("run_id")),
        "benchmark_names": select(descriptors.c.name).distinct(),
        "metric_names": select(metrics.c.name)
        .distinct()
        .where(select(points.c.run).where(points.c.metric == metrics.c.id).correlate(metrics).exists()),
        "label_names": select(labels.c.name, labels.c.value).distinct(),
        "benchmark_names_within": select(descriptors.c.name)
        .where(descriptors.c.id.in_(described))
        .distinct(),
        "metric_names_within": select(metrics.c.name)
        .join_from(metrics, points, points.c.metric == metrics.c.id)
        .join(runs, runs.c.no == points.c.run)
        .where(in_projects)
        .distinct(),
        "label_names_within": select(labels.c.name, labels.c.value)
        .where(labels.c.descriptor.in_(described))
        .distinct(),
        "among_projects": select(runs.c.id).where(among(runs.c.id, "ids"), in_projects),
        "next_ready": select(func.min(runs.c.ready_s).label("ready_s")).where(
            _unfinished,
            runs.c.ready_s > given("now_s"),
            or_(runs.c.holder.is_(None), runs.c.holder != given("owner")),
        ),
        "unfinished": select(func.count().label("runs")).select_from(runs).where(_unfinished),
        "events": some_events,
        "events_within": some_events.where(in_projects),
        "events_of_run": some_events.where(runs.c.id == given("run_id")),
        "remove": delete(runs).where(among(runs.c.no, "numbers")),
        "remove_descriptors": delete(descriptors).where(
            among(descriptors.c.id, "numbers"), descriptors.c.id.not_in(select(runs.c.descriptor))
        ),
        "remove_texts": delete(texts).where(
            among(texts.c.id, "numbers"), texts.c.id.not_in(select(runs.c.text))
        ),
    }


def _neighbour(side: ColumnElement[bool], order: ColumnElement[Any]) -> ScalarSelect[Any]:
    """The id of the nearest run on one side of a run, in the order of the ids."""
    nearest = select(_other.c.id).where(side).order_by(order).limit(literal_column("1"))
    return nearest.correlate(runs).scalar_subquery()


def _points() -> dict[str, Executable]:
    rows = (
        select(
            points.c.run,
            runs.c.id,
            series.c.series_key,
            series.c.fingerprint,
            metrics.c.name,
            metrics.c.units,
            points.c.value,
            points.c.spread,
            points.c.count,
            points.c.better,
            points.c.order_s,
            _subject.c.word.label("subject"),
            points.c.contaminated,
            sessions.c.machine,
            sessions.c.start_s,
        )
        .join_from(points, runs, runs.c.no == points.c.run)
        .join(series, series.c.id == points.c.series)
        .join(metrics, metrics.c.id == points.c.metric)
        .join(_subject, _subject.c.id == points.c.subject)
        .outerjoin(sessions, sessions.c.no == runs.c.session)
    )
    return {
        "forget_points": delete(points).where(points.c.run == given("run")),
        "measured": select(points.c.metric, metrics.c.name)
        .join_from(points, metrics, metrics.c.id == points.c.metric)
        .where(points.c.run == given("run")),
        "remove_points": delete(points).where(
            points.c.run == given("run"), among(points.c.metric, "numbers")
        ),
        "put_series": update(runs).where(runs.c.no == given("run")).values(series=given("series")),
        "add_point": insert(points).values({column.name: given(column.name) for column in points.c}),
        "points": rows.where(among(runs.c.id, "ids")).order_by(points.c.run),
        # In the order of an index.
        "history": rows.where(points.c.series == given("series"), points.c.metric == given("metric"))
        .order_by(points.c.order_s.desc(), points.c.run.desc())
        .limit(given("most")),
    }


def _samples() -> dict[str, Executable]:
    def one(table: Any) -> ColumnElement[bool]:
        named = select(metrics.c.id).where(metrics.c.name == given("name"))
        condition: ColumnElement[bool] = and_(table.c.run == given("run"), table.c.metric.in_(named))
        return condition

    def all_of(table: Any) -> dict[str, Any]:
        return {column.name: given(column.name) for column in table.c}

    def of_run(table: Any, *columns: Any) -> Select[Any]:
        return (
            select(*columns)
            .join_from(table, runs, runs.c.no == table.c.run)
            .join(metrics, metrics.c.id == table.c.metric)
            .where(runs.c.id == given("run_id"))
        )

    extent = func.max(samples.c.start + samples.c.count)
    segment = (samples.c.start, samples.c.count, samples.c.body, samples.c.checksum)
    summary = (
        metrics.c.name, metrics.c.units, summaries.c.count, summaries.c.last, summaries.c.min, summaries.c.max,
        summaries.c.sum,
    )  # fmt: skip
    return {
        "forget_samples": delete(samples).where(samples.c.run == given("run")),
        "remove_samples": delete(samples).where(among(samples.c.run, "numbers")),
        "forget_summaries": delete(summaries).where(summaries.c.run == given("run")),
        "remove_segments": delete(samples).where(one(samples)),
        "extent": select(extent.label("extent")).where(one(samples)),
        "add_segment": insert(samples).values(all_of(samples)),
        "remove_summary": delete(summaries).where(one(summaries)),
        "add_summary": insert(summaries).values(all_of(summaries)),
        "summary": select(
            summaries.c.count, summaries.c.last, summaries.c.min, summaries.c.max, summaries.c.sum
        ).where(one(summaries)),
        "stored_segments": select(runs.c.id, *segment)
        .join_from(samples, runs, runs.c.no == samples.c.run)
        .where(one(samples))
        .order_by(samples.c.start),
        "segments": of_run(samples, metrics.c.units, *segment)
        .where(metrics.c.name == given("name"))
        .order_by(samples.c.start),
        "summaries": of_run(summaries, *summary),
    }


def _sessions() -> dict[str, Executable]:
    this = sessions.c.no == given("no")
    return {
        "sessions_near": select(sessions).where(
            sessions.c.machine == given("machine"),
            sessions.c.start_s <= given("before_s"),
            sessions.c.end_s >= given("after_s"),
        ),
        "add_session": insert(sessions)
        .values(machine=given("machine"), start_s=given("start_s"), end_s=given("end_s"))
        .returning(sessions.c.no),
        "extend_session": update(sessions).where(this).values(start_s=given("start_s"), end_s=given("end_s")),
        "move_runs": update(runs).where(runs.c.session == given("no")).values(session=given("into")),
        "remove_session": delete(sessions).where(this),
        "put_session": update(runs).where(runs.c.no == given("run")).values(session=given("session")),
    }
