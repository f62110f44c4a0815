"""What a descriptor asks for that its engine, or this installation, cannot do."""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from anubis.agent.execute.masking import SHORTEST
from anubis.contracts.engine import Capabilities, Engine
from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.notifier import Notifier
from anubis.contracts.service.projects import UNLIMITED, Permission
from anubis.contracts.source import Restricted, Source, shown_address
from anubis.contracts.world import NO_TABLE, PriceTable
from anubis.model.cause import Cause
from anubis.model.descriptor import DEFAULT_ENGINE, SINGLE_RUN, Descriptor, Isolate
from anubis.model.errors import BadInputError, PlugInError
from anubis.model.hardware import LOCAL, parsed
from anubis.model.launch import Role
from anubis.model.problem import Problem, Severity
from anubis.model.server import DataSource
from anubis.submission.bundle import SERVER, bundle_of
from anubis.submission.permission import not_permitted


def refusals(
    descriptor: Descriptor,
    engines: Mapping[str, Engine],
    notifiers: Mapping[str, Notifier],
    sources: Mapping[str, Source],
    *,
    prices: PriceTable = NO_TABLE,
    permission: Permission = UNLIMITED,
) -> list[Problem]:
    """Everything that cannot be done here, or is not permitted, one problem each.

    ``notifiers`` and ``sources`` are by the schemes that they serve.
    """
    name = descriptor.info.execution_engine
    try:
        engine = engines[name]
    except KeyError as error:
        message = f'there is no engine "{name}" here'
        return [_missing("info.execution_engine", message, name, engines, error)]
    limit = descriptor.hardware.max_cost
    return [
        *_unable(descriptor, engine.name, engine.capabilities),
        *_unserved(descriptor),
        *(without_price("hardware.max_cost", limit, descriptor, prices) if limit else ()),
        *_undeliverable(descriptor, notifiers),
        *_unreadable(descriptor, sources),
        *not_permitted(descriptor, engine, permission),
    ]


def checked_here(
    descriptor: Descriptor,
    engines: Mapping[str, Engine],
    notifiers: Mapping[str, Notifier],
    sources: Mapping[str, Source],
    default_engine: str,
    *,
    prices: PriceTable = NO_TABLE,
) -> list[Problem]:
    """What this installation knows about a descriptor that may be submitted elsewhere.

    Errors: what the engine that it names cannot do. Warnings: what depends on the installation.
    """
    name = engine_name(descriptor, default_engine)
    try:
        engine = engines[name]
    except KeyError as error:
        message = f'engine "{name}" is not installed here, so what it can do is not checked'
        found = [_warning(_missing("info.execution_engine", message, name, engines, error))]
    else:
        unable = _unable(descriptor, name, engine.capabilities)
        is_named = descriptor.info.execution_engine == name
        found = list(unable) if is_named else [_warning(problem) for problem in unable]
    limit = descriptor.hardware.max_cost
    absent = (
        *_undeliverable(descriptor, notifiers),
        *_unreadable(descriptor, sources),
        *(without_price("hardware.max_cost", limit, descriptor, prices) if limit else ()),
    )
    return [*found, *(_warning(problem) for problem in absent)]


def engine_name(descriptor: Descriptor, default_engine: str) -> str:
    """The name of the engine that runs a descriptor."""
    named = descriptor.info.execution_engine
    return default_engine if named == DEFAULT_ENGINE else named


def engine_of(descriptor: Descriptor, engines: Mapping[str, Engine], default_engine: str) -> Engine | None:
    """The engine of a descriptor; None if it is not installed here."""
    try:
        return engines[engine_name(descriptor, default_engine)]
    except KeyError:
        return None


def only_recorded(descriptor: Descriptor, engine: Engine) -> Iterator[Problem]:
    """What this engine keeps in the record but does not act on, as warnings."""
    can, hardware = engine.capabilities, descriptor.hardware
    if descriptor.env.docker_image and not can.images:
        message = f'engine "{engine.name}" runs no image: {descriptor.env.docker_image} is only recorded'
        yield _warning(_refusal("env.docker_image", message, ""))
    if hardware.instance_type != LOCAL and not can.instance_types:
        message = f'engine "{engine.name}" runs on this machine: {hardware.instance_type} is only recorded'
        yield _warning(_refusal("hardware.instance_type", message, ""))
    for field in ("gpus", "cpus", "memory_gb"):
        requested, most = getattr(hardware, field), getattr(can, field)
        if requested is not None and requested > most:
            message = (
                f'engine "{engine.name}" has at most {most:g} here: {field} = {requested:g} is only recorded'
            )
            yield _warning(_refusal(f"hardware.{field}", message, ""))
    for field in ("availability_zone", "aws_zone_id"):
        if (zone := getattr(hardware, field)) and not can.zones:
            message = f'engine "{engine.name}" has no zones: {zone} is only recorded'
            yield _warning(_refusal(f"hardware.{field}", message, ""))
    if not descriptor.env.extended_shm and not can.images:
        message = (
            f'engine "{engine.name}" always has the shared memory of the machine: false is only recorded'
        )
        yield _warning(_refusal("env.extended_shm", message, ""))
    if descriptor.custom_params is not None and not can.custom_params:
        message = f'engine "{engine.name}" does not use this section: it is only recorded'
        yield _warning(_refusal("custom_params", message, ""))


def not_inherited(descriptor: Descriptor, environment: SubmittedEnvironment) -> Iterator[Problem]:
    """Variables in ``env.inherit`` that are not set, or too short to be masked, as warnings."""
    for name in descriptor.env.inherit:
        value = environment.variables.get(name)
        if value is None:
            yield _warning(_refusal("env.inherit", f"{name} is not set here, so it is not inherited", ""))
        elif len(value.encode(errors="surrogateescape")) < SHORTEST:
            message = f"the value of {name} has fewer than {SHORTEST} bytes and is not masked in the output"
            yield _warning(_refusal("env.inherit", message, ""))


def _missing(path: str, message: str, name: str, known: Mapping[str, object], error: KeyError) -> Problem:
    """A plug-in that is not installed, or one that is broken."""
    if isinstance(error, PlugInError) and name in list(known):
        return _refusal(path, error.message, error.remedy)
    return _refusal(path, message, f"use one of: {', '.join(sorted(known))}")


def _unable(descriptor: Descriptor, name: str, can: Capabilities) -> Iterator[Problem]:
    hardware = descriptor.hardware
    if can.missing:
        yield _refusal("info.execution_engine", f'engine "{name}" cannot place runs here', can.missing)
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
    else:
        yield from _collisions("data.sources", descriptor.data.sources)
    if descriptor.server:
        yield from _collisions("server.models", descriptor.server.models)
    if descriptor.measure.isolate is Isolate.PLACE and not can.isolate_place:
        yield _refusal(
            "measure.isolate",
            f'a new placement for every repeat is not available on engine "{name}"',
            'use isolate = "process", or submit it with --rounds',
        )
    for role in bundle_of(descriptor).roles:
        yield from _unable_role(role, name, can)


def _collisions(listed: str, sources: Sequence[DataSource]) -> Iterator[Problem]:
    """Sources whose paths are equal, or inside one another."""
    for index, source in enumerate(sources):
        path = f"{posixpath.normpath(source.path)}/"
        for before, other in enumerate(sources[:index]):
            taken = f"{posixpath.normpath(other.path)}/"
            if path.startswith(taken) or taken.startswith(path):
                yield _refusal(
                    f"{listed}[{index}].path",
                    f"{shown_address(source.src)} and {shown_address(other.src)} ({listed}[{before}]) "
                    f"have paths that overlap: {source.path} and {other.path}",
                    "give each source a path outside of the others",
                )


def _unable_role(role: Role, name: str, can: Capabilities) -> Iterator[Problem]:
    section = "server.env" if role.name == SERVER else "env"
    command = "server.env.start_command" if role.name == SERVER else "ml.benchmark_code"
    if role.privileged and not can.privileged:
        allows = "ask the operator to allow it" if can.images else "run on an engine with containers"
        yield _refusal(
            f"{section}.privileged",
            f'privileged mode is not available on engine "{name}"',
            f"remove privileged = true, or {allows}",
        )
    if not can.images and not role.command:
        yield _refusal(
            command,
            f'engine "{name}" runs no image, so there is no entry point to fall back on',
            f"say what to execute in {command}",
        )
    if can.image_required and not role.image:
        yield _refusal(
            f"{section}.docker_image",
            f'engine "{name}" runs containers only, and there is no image',
            f'name an image in [{section}], for example docker_image = "python:3.12-slim"',
        )


def _unserved(descriptor: Descriptor) -> Iterator[Problem]:
    if descriptor.info.scheduling != SINGLE_RUN:
        yield _refusal(
            "info.scheduling",
            f'a descriptor with the schedule "{descriptor.info.scheduling}" is not a single run',
            "add it to the schedules with anubis schedule add FILE, or run it once now with"
            " --set info.scheduling=single_run",
        )


def without_price(path: str, limit: str, descriptor: Descriptor, table: PriceTable) -> Iterator[Problem]:
    """Why the maximum cost at a path cannot be kept: a machine has no price in its currency."""
    server = descriptor.server
    try:
        prices = table.current()
    except BadInputError as error:
        yield _refusal(path, error.message, error.remedy)
        return
    currency = parsed(limit).currency
    if prices.currency != currency:
        yield _refusal(
            path,
            f"no price of a machine is known in {currency}, so the limit cannot be kept"
            + (f": the price table is in {prices.currency}" if prices.currency else ""),
            f"add the price of {descriptor.hardware.instance_type} to the price table (prices.toml in the home folder,"
            " or ANUBIS_PRICES), or remove the limit",
        )
        return
    kinds = {descriptor.hardware.instance_type, *({server.hardware.instance_type} if server else ())}
    # The machine is chosen by the engine, and its price may be in the table.
    for kind in sorted(kinds if not prices.hosts else ()):
        if prices.per_hour(kind) is None:
            yield _refusal(
                path,
                f"the price of a machine {kind} is not known, so the limit cannot be kept",
                f"add {kind} to [machines] in the price table (ANUBIS_PRICES), or remove the limit",
            )


def _undeliverable(descriptor: Descriptor, notifiers: Mapping[str, Notifier]) -> Iterator[Problem]:
    """Addresses that no installed notifier serves. Only their scheme is shown: an address may be a secret."""
    for index, notify in enumerate(descriptor.notify):
        scheme = notify.to.partition(":")[0]
        try:
            notifiers[scheme]
        except KeyError as error:
            message = f"no installed notifier serves `{scheme}:`"
            yield _missing(f"notify[{index}].to", message, scheme, notifiers, error)


def _unreadable(descriptor: Descriptor, sources: Mapping[str, Source]) -> Iterator[Problem]:
    """Addresses of data that no installed source reads, or that this installation must not reach."""
    models = descriptor.server.models if descriptor.server else ()
    for section, items in (("data.sources", descriptor.data.sources), ("server.models", models)):
        for index, item in enumerate(items):
            scheme = item.src.partition(":")[0].lower()
            path = f"{section}[{index}].src"
            try:
                source = sources[scheme]
            except KeyError as error:
                message = f"no installed source reads `{scheme}:`"
                yield _missing(path, message, scheme, sources, error)
                continue
            if isinstance(source, Restricted) and (reason := source.refusal(item.src)):
                yield _refusal(path, reason, Cause.DATA_ADDRESS.remedy)


def _refusal(path: str, message: str, remedy: str) -> Problem:
    return Problem(path=path, message=message, remedy=remedy)


def _warning(problem: Problem) -> Problem:
    return replace(problem, severity=Severity.WARNING)
