"""Submission: converts descriptors to runs. Nothing is placed; if any descriptor is refused, nothing is stored."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from anubis.contracts.clock import Clock
from anubis.contracts.engine import Engine
from anubis.contracts.notifier import Notifier
from anubis.contracts.service.projects import UNLIMITED, Permission
from anubis.contracts.source import Source
from anubis.contracts.world import NO_TABLE, PriceTable
from anubis.model.descriptor import DEFAULT_ENGINE, Descriptor, Script
from anubis.model.errors import BadInputError
from anubis.model.identity import digest, in_project, series_key
from anubis.model.ids import new_run_id
from anubis.model.labels import CONTROL, IS_CONTROL
from anubis.model.run import Event, Run
from anubis.model.status import Status
from anubis.submission.refusals import only_recorded, refusals

T = TypeVar("T")
_NO_VALUES: Mapping[str, Any] = MappingProxyType({})
#: For descriptors of at most so many characters, what is derived from them is kept for the next submission of the same object
#: (the reader returns the same object for the same text), for so many of them.
_SHORT, _MOST_KEPT = 8 << 10, 256


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What is derived from a descriptor alone."""

    source: Descriptor
    #: With its engine.
    descriptor: Descriptor
    digest: str
    series_key: str


_prepared: dict[tuple[int, str], _Prepared] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One descriptor to run: a cell of a sweep, or a side of a comparison."""

    descriptor: Descriptor
    #: The unchanged text of the file.
    text: str
    #: Coordinates of the run in its family: axis values, side of a comparison.
    cell: Mapping[str, Any] = field(default_factory=dict)
    #: Working folder on this machine.
    folder: str | None = None
    #: Object key of the script archive.
    script: str | None = None
    #: See ``Run.overrides``.
    overrides: Mapping[str, str] = field(default_factory=dict)
    #: Position of its points in a series, UTC seconds; None: the time of submission.
    order_s: float | None = None


def runs_of(
    submissions: Sequence[Submission],
    *,
    engines: Mapping[str, Engine],
    notifiers: Mapping[str, Notifier],
    sources: Mapping[str, Source],
    prices: PriceTable = NO_TABLE,
    default_engine: str,
    owner: str,
    clock: Clock,
    rounds: int = 1,
    permission: Permission = UNLIMITED,
) -> tuple[list[tuple[Run, str]], list[Event]]:
    """The runs to store, in the order in which they should run, with their first events.

    With several rounds the order alternates (A B, B A, A B ...), so that a machine that grows slower or faster
    meanwhile treats all sides alike. ``notifiers`` and ``sources`` are by the schemes that they serve. Raises BadInputError with everything that is refused.
    """
    chosen = [_ready(submission, default_engine) for submission in submissions]
    check(
        [submission.descriptor for submission, _ in chosen],
        engines,
        notifiers,
        sources,
        prices=prices,
        permission=permission,
    )
    family = new_run_id() if len(chosen) * rounds > 1 else None
    stored: list[tuple[Run, str]] = []
    events: list[Event] = []
    project = permission.project.name
    for round_number, (submission, identity) in _in_order(chosen, rounds):
        cell = {"round": round_number} if rounds > 1 else {}
        run = in_project(run_of(submission, identity, family, owner, clock.now_s(), cell=cell), project)
        stored.append((run, submission.text))
        data = {"cell": run.cell} if run.cell else {}
        events.append(Event(run_id=run.id, kind="submitted", time_s=run.created_s, actor=owner, data=data))
        ignored = [problem.message for problem in only_recorded(run.descriptor, engines[run.engine])]
        if ignored:
            text = "; ".join(ignored)
            events.append(Event(run_id=run.id, kind="only_recorded", time_s=run.created_s, message=text))
    return stored, events


def _ready(submission: Submission, default_engine: str) -> tuple[Submission, tuple[str, str]]:
    """The submission with the engine in its descriptor, and the digest and the series key of the descriptor."""
    source = submission.descriptor
    if submission.script or len(submission.text) > _SHORT:
        ready = with_engine(submission, default_engine)
        return ready, (digest(ready.descriptor), series_key(ready.descriptor))
    known = _prepared.get((id(source), default_engine))
    if known is None or known.source is not source:  # the id of an object that is gone may be used again
        descriptor = with_engine(submission, default_engine).descriptor
        known = _Prepared(source, descriptor, digest(descriptor), series_key(descriptor))
        if len(_prepared) >= _MOST_KEPT:
            _prepared.clear()
        _prepared[id(source), default_engine] = known
    return replace(submission, descriptor=known.descriptor), (known.digest, known.series_key)


def check(
    descriptors: Iterable[Descriptor],
    engines: Mapping[str, Engine],
    notifiers: Mapping[str, Notifier],
    sources: Mapping[str, Source],
    *,
    prices: PriceTable = NO_TABLE,
    permission: Permission = UNLIMITED,
) -> None:
    """Raise BadInputError with everything that these descriptors ask for and that cannot be done here, or is not permitted."""
    refused = [
        problem
        for descriptor in {id(each): each for each in descriptors}.values()
        for problem in refusals(descriptor, engines, notifiers, sources, prices=prices, permission=permission)
    ]
    if refused:
        unique = list(dict.fromkeys(refused))
        raise BadInputError("the run is refused; nothing was stored", problems=unique)


def as_control(submission: Submission) -> Submission:
    """The submission as a side of an A/A control."""
    info = submission.descriptor.info
    labelled = replace(info, labels={**info.labels, CONTROL: IS_CONTROL})
    return replace(submission, descriptor=replace(submission.descriptor, info=labelled))


def _in_order(submissions: Sequence[T], rounds: int) -> Iterator[tuple[int, T]]:
    for number in range(rounds):
        for submission in submissions if number % 2 == 0 else reversed(submissions):
            yield number, submission


def with_engine(submission: Submission, default_engine: str) -> Submission:
    """The submission with the engine and the script archive in its descriptor."""
    descriptor = submission.descriptor
    if descriptor.info.execution_engine == DEFAULT_ENGINE:
        descriptor = replace(descriptor, info=replace(descriptor.info, execution_engine=default_engine))
    if submission.script:
        descriptor = replace(descriptor, ml=replace(descriptor.ml, script=Script(script=submission.script)))
    return replace(submission, descriptor=descriptor)


def run_of(
    submission: Submission,
    identity: tuple[str, str],
    family: str | None,
    owner: str,
    now_s: float,
    *,
    run_id: str | None = None,
    cell: Mapping[str, Any] = _NO_VALUES,
) -> Run:
    """A new run.

    ``identity`` is the digest and the series key of its descriptor; ``run_id`` None: a new id; ``cell``: coordinates in
    addition to those of the submission.
    """
    descriptor = submission.descriptor
    return Run(
        id=run_id or new_run_id(),
        descriptor=descriptor,
        digest=identity[0],
        series_key=identity[1],
        owner=owner,
        engine=descriptor.info.execution_engine,
        status=first_status(descriptor),
        created_s=now_s,
        due_s=now_s,
        family_id=family,
        folder=submission.folder,
        order_s=submission.order_s,
        cell={**submission.cell, **cell},
        overrides=dict(submission.overrides),
    )


def first_status(descriptor: Descriptor) -> Status:
    """The status of a new run: what it needs is fetched first."""
    models = descriptor.server.models if descriptor.server else ()
    return Status.FETCH if descriptor.ml.script or descriptor.data.sources or models else Status.PLACE
