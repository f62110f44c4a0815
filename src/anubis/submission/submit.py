"""Submit: descriptors become runs. Nothing is placed here, and nothing is stored when anything is refused."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anubis.contracts.clock import Clock
from anubis.contracts.engine import Capabilities, Engine
from anubis.model.descriptor import DEFAULT_ENGINE, SINGLE_RUN, Descriptor, Isolate, Script
from anubis.model.errors import BadInputError
from anubis.model.hardware import LOCAL
from anubis.model.identity import digest, series_key
from anubis.model.ids import new_run_id
from anubis.model.problem import Problem, Severity
from anubis.model.run import Event, Run
from anubis.model.status import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One descriptor to run: one cell of a sweep, or one side of a comparison."""

    descriptor: Descriptor
    #: The file as the user wrote it.
    text: str
    #: What tells this run apart in its family: axis values, side of a comparison.
    cell: Mapping[str, Any] = field(default_factory=dict)
    #: Working folder on this machine.
    folder: str | None = None
    #: Object key of the script archive.
    script: str | None = None
    #: What orders its points in a series; None: the time of submission.
    order_s: float | None = None


def runs_of(
    submissions: Sequence[Submission],
    *,
    engines: Mapping[str, Engine],
    default_engine: str,
    owner: str,
    clock: Clock,
    rounds: int = 1,
) -> tuple[list[tuple[Run, str]], list[Event]]:
    """The runs to store, in the order in which they should go, with their first events.

    With several rounds the order alternates (A B, B A, A B ...), so that a machine that grows slower or faster
    meanwhile treats all sides alike. Raises BadInputError with everything that is refused.
    """
    chosen = [_with_engine(submission, default_engine) for submission in submissions]
    refused = [problem for submission in chosen for problem in refusals(submission.descriptor, engines)]
    if refused:
        unique = list(dict.fromkeys(refused))
        raise BadInputError("the run was refused; nothing was stored", problems=unique)
    family = new_run_id() if len(chosen) * rounds > 1 else None
    stored: list[tuple[Run, str]] = []
    events: list[Event] = []
    identities: dict[int, tuple[str, str]] = {}
    for round_number, submission in _in_order(chosen, rounds):
        if id(submission) not in identities:
            identities[id(submission)] = (digest(submission.descriptor), series_key(submission.descriptor))
        run = _run(submission, identities[id(submission)], family, owner, clock.now_s())
        cell = dict(submission.cell) | ({"round": round_number} if rounds > 1 else {})
        stored.append((run, submission.text))
        events.append(
            Event(
                run_id=run.id,
                kind="submitted",
                time_s=run.created_s,
                actor=owner,
                data={"cell": cell} if cell else {},
            )
        )
    return stored, events


def _in_order(submissions: Sequence[Submission], rounds: int) -> Iterator[tuple[int, Submission]]:
    for number in range(rounds):
        for submission in submissions if number % 2 == 0 else reversed(submissions):
            yield number, submission


def _with_engine(submission: Submission, default_engine: str) -> Submission:
    descriptor = submission.descriptor
    if descriptor.info.execution_engine == DEFAULT_ENGINE:
        descriptor = replace(descriptor, info=replace(descriptor.info, execution_engine=default_engine))
    if submission.script:
        descriptor = replace(descriptor, ml=replace(descriptor.ml, script=Script(script=submission.script)))
    return replace(submission, descriptor=descriptor)


def _run(
    submission: Submission, identity: tuple[str, str], family: str | None, owner: str, now_s: float
) -> Run:
    descriptor = submission.descriptor
    return Run(
        id=new_run_id(),
        descriptor=descriptor,
        digest=identity[0],
        series_key=identity[1],
        owner=owner,
        engine=descriptor.info.execution_engine,
        status=Status.FETCH if descriptor.ml.script or descriptor.data.sources else Status.PLACE,
        created_s=now_s,
        due_s=now_s,
        family_id=family,
        folder=submission.folder,
        order_s=submission.order_s,
    )


def refusals(descriptor: Descriptor, engines: Mapping[str, Engine]) -> list[Problem]:
    """Everything this descriptor asks for that its engine, or this installation, cannot do."""
    name = descriptor.info.execution_engine
    engine = engines.get(name)
    if engine is None:
        known = ", ".join(sorted(engines))
        return [
            _refusal("info.execution_engine", f'there is no engine "{name}" here', f"choose one of: {known}")
        ]
    return [*_unable(descriptor, name, engine.capabilities), *_unserved(descriptor)]


def only_recorded(descriptor: Descriptor, engine: Engine) -> Iterator[Problem]:
    """What this engine keeps in the record but does not act on, as warnings."""
    can, hardware = engine.capabilities, descriptor.hardware
    if descriptor.env.docker_image and not can.images:
        message = f'engine "{engine.name}" runs no image: {descriptor.env.docker_image} is only recorded'
        yield replace(_refusal("env.docker_image", message, ""), severity=Severity.WARNING)
    if hardware.instance_type != LOCAL and not can.instance_types:
        message = f'engine "{engine.name}" runs on this machine: {hardware.instance_type} is only recorded'
        yield replace(_refusal("hardware.instance_type", message, ""), severity=Severity.WARNING)


def _unable(descriptor: Descriptor, name: str, can: Capabilities) -> Iterator[Problem]:
    hardware = descriptor.hardware
    if hardware.strategy not in can.strategies:
        yield _refusal(
            "hardware.strategy",
            f'strategy "{hardware.strategy}" is not available on engine "{name}"',
            f"use one of: {', '.join(sorted(can.strategies))}, or another engine",
        )
    if descriptor.data.sources and not can.data:
        yield _refusal(
            "data.sources",
            f'fetching data is not available on engine "{name}"',
            "let benchmark_code read the data from where it lies, and remove [[data.sources]]",
        )
    if descriptor.measure.isolate is Isolate.PLACE and not can.isolate_place:
        yield _refusal(
            "measure.isolate",
            f'a new placement for every repeat is not available on engine "{name}"',
            'use isolate = "process", or submit it with --rounds',
        )
    if descriptor.env.privileged and not can.images:
        yield _refusal(
            "env.privileged",
            f'privileged mode is not available on engine "{name}"',
            "remove privileged = true, or run on an engine with containers",
        )
    if not can.images and not descriptor.ml.benchmark_code:
        yield _refusal(
            "ml.benchmark_code",
            f'engine "{name}" runs no image, so there is no entry point to fall back on',
            "say what to execute in ml.benchmark_code",
        )


def _unserved(descriptor: Descriptor) -> Iterator[Problem]:
    if descriptor.info.scheduling != SINGLE_RUN:
        yield _refusal(
            "info.scheduling",
            "schedules need a service, which this version does not have",
            'use scheduling = "single_run" and a cron entry that calls anubis submit',
        )
    if descriptor.hardware.max_cost:
        yield _refusal(
            "hardware.max_cost",
            "the price of a run is not known here, so a limit cannot be kept",
            "remove max_cost",
        )


def _refusal(path: str, message: str, remedy: str) -> Problem:
    return Problem(path=path, message=message, remedy=remedy)
