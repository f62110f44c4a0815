"""The identity of a descriptor: its digest (exactly what ran) and its series key (what may be compared)."""

import hashlib
import json
from dataclasses import replace
from functools import cache

from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.descriptor import Data, Descriptor, Info, Limits, Measure, Subject
from anubis.model.metric import Output
from anubis.model.plain import to_plain
from anubis.model.run import Run
from anubis.model.server import Compare, DataSource, Server


def canonical(descriptor: Descriptor) -> str:
    """The descriptor as JSON with sorted keys, without white space and without fields that have their default."""
    return json.dumps(to_plain(descriptor), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(descriptor: Descriptor) -> str:
    """SHA-256 of the canonical form, 64 hex digits."""
    return hashlib.sha256(canonical(descriptor).encode()).hexdigest()


def series_key(descriptor: Descriptor) -> str:
    """SHA-256 of the comparable part, 64 hex digits."""
    return digest(comparable(descriptor))


@cache
def key_in_project(base: str, project: str) -> str:
    """The series key of a run in a project: that of its descriptor in the default project, else one that no other
    project has, so that runs of different projects never share a series.
    """
    return base if project == DEFAULT_PROJECT else hashlib.sha256(f"{project}\n{base}".encode()).hexdigest()


def in_project(run: Run, project: str) -> Run:
    """A new run of the default project as one of this project."""
    if project == run.project:
        return run
    return replace(run, project=project, series_key=key_in_project(run.series_key, project))


def comparable(descriptor: Descriptor) -> Descriptor:
    """The part of a descriptor that must be equal for two runs to be compared.

    Left out are the subject and the code under test (which a series compares), the schedule, free text, notifications,
    limits of time and cost, inherited secrets, the number of repeats, and the metrics (each metric has its own series, so adding a metric
    does not start a new history for the others). Of sources whose content is compared, where the content is fetched from
    is left out: stage collect adds the content to the fingerprint of the points.
    """
    info, hardware = descriptor.info, descriptor.hardware
    return replace(
        descriptor,
        spec_version="1.0",
        info=Info(name=info.name, labels=info.labels, execution_engine=info.execution_engine),
        subject=Subject(),
        hardware=replace(hardware, max_wait_s=None, max_cost=None),
        env=replace(descriptor.env, inherit=()),
        ml=replace(descriptor.ml, script=None),
        data=Data(sources=tuple(map(_compared, descriptor.data.sources))),
        server=_with_compared_models(descriptor.server),
        measure=Measure(
            warmups=descriptor.measure.warmups,
            isolate=descriptor.measure.isolate,
            fixed_layout=descriptor.measure.fixed_layout,
            pin=descriptor.measure.pin,
            numa=descriptor.measure.numa,
            nice=descriptor.measure.nice,
            drop_caches=descriptor.measure.drop_caches,
            governor=descriptor.measure.governor,
        ),
        limits=Limits(),
        output=Output(),
        notify=(),
        matrix=None,
    )


def _compared(source: DataSource) -> DataSource:
    return replace(source, src="", digest=None) if source.compare is Compare.CONTENT else source


def _with_compared_models(server: Server | None) -> Server | None:
    return server and replace(server, models=tuple(map(_compared, server.models)))
