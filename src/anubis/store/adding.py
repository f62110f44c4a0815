"""Storing new runs. Descriptors and texts that several runs share are stored once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.identity import series_key
from anubis.model.points import SESSION_PAUSE_S, Point, SampleBlock
from anubis.model.run import Event, Run, Step, finished_period
from anubis.model.status import Status
from anubis.store.access.projects import check_quotas
from anubis.store.dictionaries import Dictionaries
from anubis.store.events import event_words, write_events
from anubis.store.rows import descriptor_values, id_bytes, id_text, new_run_values
from anubis.store.sql.database import Database, Session, chunked
from anubis.store.sql.listening import WORK
from anubis.store.text import clean, packed, text_digest
from anubis.store.writing import Measured, assign_sessions, point_rows, write_points


def add_runs(
    database: Database,
    dictionaries: Dictionaries,
    runs: Sequence[tuple[Run, str]],
    *,
    events: Sequence[Event] = (),
    points: Sequence[Point] = (),
    samples: Mapping[str, Sequence[SampleBlock]] | None = None,
    session_pause_s: float = SESSION_PAUSE_S,
) -> list[str]:
    """Store runs that are not stored yet, with their points, samples and events, in one transaction.

    Returns the ids of the new runs.
    """
    return database.transact(
        adding(
            dictionaries, runs, events=events, points=points, samples=samples, session_pause_s=session_pause_s
        )
    )


def adding(
    dictionaries: Dictionaries,
    runs: Sequence[tuple[Run, str]],
    *,
    events: Sequence[Event] = (),
    points: Sequence[Point] = (),
    samples: Mapping[str, Sequence[SampleBlock]] | None = None,
    session_pause_s: float = SESSION_PAUSE_S,
) -> Callable[[Session], list[str]]:
    """What ``add_runs`` does in its transaction, to be called in another one; everything slow happens before."""
    words = dictionaries.words(
        word for run, _ in runs for word in (run.owner, run.engine, run.folder, run.family_id, _base_key(run))
    )
    words = dictionaries.words(event_words(events))
    measured = point_rows(dictionaries, points)
    sampled = {
        run.id: Measured(dictionaries, Step(status=run.status, samples=tuple(samples[run.id])))
        for run, _ in runs
        if samples and samples.get(run.id)
    }

    def work(session: Session) -> list[str]:
        # Locks the row that every writer of events locks, so that no other writer adds or removes descriptors.
        session.rows("count_events", count=0)
        new = _unknown(session, runs)
        given = {run.id for run, _ in runs}
        fresh = {run.id for run, _ in new}
        if runs and not new:
            return []
        descriptors = _descriptors(session, [run for run, _ in new], words)
        _add_rows(session, new, words, descriptors)
        write_events(session, [e for e in events if e.run_id in fresh or e.run_id not in given], words)
        if any(not run.status.final for run, _ in new):
            session.notify(WORK)
        numbers = _numbers(session, fresh) if points or sampled else {}
        if points:
            found = zip(points, measured, strict=True)
            rows = [{"run": numbers[point.run_id], **row} for point, row in found if point.run_id in numbers]
            write_points(session, rows)
            machines = {point.run_id: point.fingerprint for point in points}
            periods = {
                numbers[run.id]: finished_period(run, machines[run.id])
                for run, _ in new
                if run.id in machines
            }
            assign_sessions(session, periods, session_pause_s)
        for run_id in sampled.keys() & numbers.keys():
            sampled[run_id].write(session, numbers[run_id])
        return [run.id for run, _ in new]

    return work


def add_points(database: Database, dictionaries: Dictionaries, points: Sequence[Point]) -> int:
    """Add points of further metrics to final runs with points, in one transaction. Returns the number of new points."""
    measured = point_rows(dictionaries, points)

    def work(session: Session) -> int:
        session.rows("count_events", count=0)  # locks out writers that remove the runs
        numbers = _numbers(session, {point.run_id for point in points}, statement="final_runs")
        known = {
            (number, row.name) for number in numbers.values() for row in session.rows("measured", run=number)
        }
        measured_runs = {number for number, _ in known}
        rows: dict[tuple[int, str], dict[str, Any]] = {}
        for point, row in zip(points, measured, strict=True):
            number = numbers.get(point.run_id)
            if number in measured_runs and (key := (number, clean(point.metric))) not in known:
                rows.setdefault(key, {"run": number, **row})
        session.write_all("add_point", list(rows.values()))
        return len(rows)

    return database.transact(work)


def replace_samples(
    database: Database, dictionaries: Dictionaries, run_id: str, samples: Sequence[SampleBlock]
) -> None:
    """See ``Runs.replace_samples``."""
    measured = Measured(dictionaries, Step(status=Status.SUCCEEDED, samples=tuple(samples)))

    def work(session: Session) -> None:
        numbers = _numbers(session, [run_id], statement="final_runs")
        if not numbers:
            raise NotFoundError(f"no final run has the id {run_id}", remedy="anubis history lists the runs")
        for statement in ("forget_samples", "forget_summaries"):
            session.write(statement, run=numbers[run_id])
        measured.write(session, numbers[run_id])

    database.transact(work)


def _unknown(session: Session, runs: Sequence[tuple[Run, str]]) -> list[tuple[Run, str]]:
    by_id = {run.id: (run, text) for run, text in runs}
    for known in _numbers(session, by_id):
        del by_id[known]
    return list(by_id.values())


def _numbers(session: Session, run_ids: Iterable[str], *, statement: str = "known_runs") -> dict[str, int]:
    """Id -> number of the runs that are stored (and final, with the statement ``final_runs``)."""
    return {
        id_text(row.id): row.no
        for ids in chunked(map(id_bytes, run_ids))
        for row in session.rows(statement, ids=ids)
    }


def _add_rows(
    session: Session,
    new: Sequence[tuple[Run, str]],
    words: dict[str, int],
    descriptors: dict[str, int],
) -> None:
    projects = _projects(session, {run.project for run, _ in new})
    texts = _texts(session, {text_digest(text): text for _, text in new})
    waiting = [run for run, _ in new if not run.status.final]
    if waiting:
        newest_s = max(run.created_s for run in waiting)
        check_quotas(session, [projects[run.project] for run in waiting], newest_s)
    rows = [
        new_run_values(run, words, descriptors[run.digest], texts[text_digest(text)], projects[run.project])
        for run, text in new
    ]
    session.write_all("add_run", rows)


def _base_key(run: Run) -> str:
    """The series key of its descriptor, without its project."""
    return run.series_key if run.project == DEFAULT_PROJECT else series_key(run.descriptor)


def _projects(session: Session, names: Iterable[str]) -> dict[str, int]:
    """Name -> number. Raises BadInputError for a project that does not exist."""
    numbers = {row.name: row.no for row in session.rows("find_projects", names=sorted(names))}
    if unknown := sorted(set(names) - numbers.keys()):
        raise BadInputError(
            f"there is no project {unknown[0]!r}", remedy="anubis project list shows the projects"
        )
    return numbers


def _descriptors(session: Session, runs: Sequence[Run], words: dict[str, int]) -> dict[str, int]:
    """Digest -> number of the descriptor; new descriptors are stored."""
    by_digest = {run.digest: run for run in runs}
    known: dict[str, int] = {}
    for digests in chunked(map(bytes.fromhex, by_digest)):
        known |= {row.digest.hex(): row.id for row in session.rows("find_descriptors", digests=digests)}
    for digest, run in by_digest.items():
        if digest not in known:
            values = descriptor_values(run) | {"series_key": words[_base_key(run)]}
            known[digest] = session.row("add_descriptor", **values).id
            labels = [
                {"name": clean(name), "value": clean(value), "descriptor": known[digest]}
                for name, value in run.descriptor.info.labels.items()
            ]
            if labels:
                session.write_all("add_label", labels)
    return known


def _texts(session: Session, by_digest: dict[bytes, str]) -> dict[bytes, int]:
    """Digest -> number of the text; new texts are stored."""
    known: dict[bytes, int] = {}
    for digests in chunked(by_digest):
        known |= {row.digest: row.id for row in session.rows("find_texts", digests=digests)}
    for digest, text in by_digest.items():
        if digest not in known:
            known[digest] = session.row("add_text", digest=digest, body=packed(text)).id
    return known
