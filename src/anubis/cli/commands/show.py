"""``anubis show`` and ``anubis descriptor``: details of one run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.analysis import quantities
from anubis.api.environments import environment_to_json
from anubis.api.runs import event_to_json, run_to_json
from anubis.cli import terminal
from anubis.cli.commands.status import about
from anubis.cli.home import open_client
from anubis.cli.params import json_option, mapping, overlay_option, overrides_option, ref_argument
from anubis.cli.views import json_output, tables, units
from anubis.late import late
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.plain import to_plain
from anubis.model.run import Event
from anubis.record.environment import RecordedEnvironment
from anubis.record.layout import TELEMETRY
from anubis.record.reading import Record
from anubis.reporting.markup import person
from anubis.reporting.status_words import event_word

if TYPE_CHECKING:
    from anubis import describe
    from anubis.api import descriptors as api_descriptors
    from anubis.cli.descriptors import validate
else:  # pydantic
    validate = late("anubis.cli.descriptors.validate")
    api_descriptors = late("anubis.api.descriptors")
    describe = late("anubis.describe")

#: Facts that are shown in another section or from which others are computed.
_NOT_SHOWN = {"version", "run_id", "started_s", "fingerprint_inputs"}
#: Longer lists of facts (CPU features, packages) are only in ``--json``.
MOST_CHARACTERS = 100


@click.command()
@ref_argument
@click.option(
    "--event", "number", type=click.IntRange(1), metavar="N", help="Only event N of the run, as JSON."
)
@json_option
def show(*, ref: str, number: int | None, as_json: bool) -> None:
    """Show timeline, machine and executions of a run."""
    with open_client() as client:
        run = client.runs.get(ref)
        if number is not None:
            _show_event(client.runs.events(run.id, after_seq=number - 1), number)
            return
        points, events = client.results.points([run.id]), client.runs.events(run.id)
        record, folder = Record(client.records.files(run)), str(client.records.folder_of(run) or "")
        environment = client.records.environment(run)
        replicas = [
            (role, rank, Record(client.records.files(run, role, rank)))
            for role, rank in client.records.replicas(run)
        ]
    if as_json:
        extra = {
            "events": [event_to_json(event) for event in events],
            "machine": dict(record.facts),
            "environment": environment_to_json(environment) if environment else None,
            "exit": dict(record.exit),
            "record": folder or None,
            "replicas": [_replica(*replica) for replica in replicas],
        }
        json_output.show({**run_to_json(run, points), **extra})
        return
    _section("", tables.pairs([*about(run), ("record", folder)], width=terminal.width()))
    _section("timeline", _timeline(events, run.created_s))
    _section("executions", _executions(record.exit))
    if len(replicas) > 1:
        _section("replicas", _replicas(replicas))
    if environment:
        _section("environment", tables.pairs(_environment(environment), width=terminal.width()))
    facts = {name: value for name, value in record.facts.items() if name not in _NOT_SHOWN}
    _section("machine", tables.pairs(flat(facts)))


def _show_event(events: Sequence[Event], number: int) -> None:
    if not events or events[0].seq != number:
        raise NotFoundError(
            f"the run has no event {number}", remedy="anubis show RUN --json lists its events"
        )
    json_output.show({"run_id": events[0].run_id, **event_to_json(events[0])})


@click.command()
@ref_argument
@click.option(
    "--resolved",
    is_flag=True,
    help="Print every value that the run has, with its origin: a line of the file, --set, a default, the matrix, "
    "or the submission (engine, commit, script).",
)
@overrides_option("Override a field of a descriptor FILE")
@overlay_option
@json_option
def descriptor(
    *,
    ref: str,
    resolved: bool,
    overrides: tuple[tuple[str, str], ...],
    overlays: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Print the descriptor file as it was submitted; instead of RUN, a descriptor FILE can be named.

    A file that extends others, or that overlays changed, is printed with them as one text.

    With --json also the descriptor of the run: with overrides and the values of its cell of a sweep; defaults are left
    out unless --resolved adds every value.
    """
    if Path(ref).is_file():
        _show_file(Path(ref), mapping(overrides), overlays, resolved=resolved, as_json=as_json)
        return
    if overrides or overlays:
        raise BadInputError(f"there is no file {ref}", remedy="--set and --overlay apply only to a file")
    with open_client() as client:
        run, text = client.runs.get(ref), client.runs.text(ref)
    values = (
        describe.resolved(text, overrides=run.overrides, descriptor=run.descriptor, axes=run.cell)
        if resolved
        else ()
    )
    if as_json:
        every = {"values": [api_descriptors.resolved_to_json(value) for value in values]} if resolved else {}
        json_output.show({"run": run.id, "text": text, "descriptor": to_plain(run.descriptor), **every})
        return
    if resolved:
        text = describe.resolved_text(values, file="line")
    terminal.line(text, nl=not text.endswith("\n"))


def _show_file(
    file: Path, overrides: dict[str, str], overlays: Sequence[Path], *, resolved: bool, as_json: bool
) -> None:
    if resolved or as_json:
        validate.show_resolved(file, overrides, overlays, as_json=as_json)
        return
    if overrides:
        raise BadInputError("--set has an effect only with --resolved", remedy="add --resolved")
    text = validate.checked(file, overlays)
    terminal.line(text.decode(errors="replace") if isinstance(text, bytes) else text, nl=False)


def _section(title: str, lines: Iterable[str]) -> None:
    shown = list(lines)
    if not shown:
        return
    if title:
        terminal.line()
        terminal.line(terminal.style(title, bold=True))
    for line in shown:
        terminal.line(f"  {line}" if title else line)


def _timeline(events: Sequence[Event], created_s: float) -> Iterator[str]:
    """Time, time since submission, kind and message of each event; its data follow the message."""
    width = max((len(event_word(event.kind)) for event in events), default=0)
    room = terminal.width()
    for event in events:
        since = units.duration(max(0.0, event.time_s - created_s))
        head = (
            f"{units.exact_moment(event.time_s)[11:]}  {'+' + since:>11}  {event_word(event.kind):{width}}  "
        )
        details = ", ".join(
            _detail(key, value) for key, value in flat(event.data) if value not in event.message
        )
        who = f"by {person(event.actor)}" if event.actor else ""
        for text in (", ".join(part for part in (event.message, who) if part), details):
            for line in tables.folded(text, None if room is None else room - len(head) - 2) if text else ():
                yield f"{head}{line}"
                head = " " * len(head)
        if head.strip():
            yield head.rstrip()


def _detail(key: str, value: str) -> str:
    return f"round={int(value) + 1}" if key == "cell.round" else f"{key}={value}"


def _replica(role: str, rank: int, record: Record) -> dict[str, Any]:
    """One replica as JSON; null where it has no result."""
    ended, telemetry = record.exit, record.files.state(TELEMETRY)
    result = {name: ended.get(name) for name in ("code", "signal", "cause", "reason", "started_s", "ended_s")}
    executions = [
        {"repeat": each.repeat, "code": each.code, "wall_s": each.wall_s, "cpu_s": each.cpu_s}
        for each in record.executions
    ]
    return {
        "role": role,
        "rank": rank,
        **result,
        "executions": executions,
        "telemetry_bytes": telemetry.size_bytes if telemetry else 0,
    }


def _replicas(replicas: Sequence[tuple[str, int, Record]]) -> Iterator[str]:
    columns = (
        tables.Column(title="ROLE"),
        tables.Column(title="RANK", right=True),
        tables.Column(title="CPU", right=True),
        tables.Column(title="ENDED"),
    )
    rows: list[list[tables.Cell]] = []
    for role, rank, record in replicas:
        cpu_s = sum(each.cpu_s for each in record.executions)
        reason = str(record.exit.get("reason") or ("succeeded" if record.exit else "no result"))
        rows.append([role, str(rank), units.duration(cpu_s), reason])
    return tables.lines(columns, rows, width=terminal.width())


def _executions(ended: Mapping[str, Any]) -> Iterator[str]:
    columns = (
        tables.Column(title="REPEAT", right=True),
        tables.Column(title="PHASE"),
        tables.Column(title="WALL", right=True),
        tables.Column(title="CPU", right=True),
        tables.Column(title="PEAK MEMORY", right=True),
        tables.Column(title="ENDED"),
    )
    rows = [_execution(execution) for execution in ended.get("executions", ())]
    return tables.lines(columns, rows, width=None) if rows else iter(())


def _execution(execution: Mapping[str, Any]) -> list[tables.Cell]:
    wall_s, peak = execution.get("wall_s"), execution.get("peak_memory_bytes")
    cpu_s = execution.get("user_s", 0.0) + execution.get("system_s", 0.0)
    signal, code = execution.get("signal"), execution.get("code")
    return [
        str(execution.get("repeat", "")),
        str(execution.get("phase", "")),
        "" if wall_s is None else units.duration(wall_s),
        units.duration(cpu_s),
        "" if peak is None else units.size(peak),
        f"signal {signal}" if signal else "" if code is None else f"exit code {code}",
    ]


def _environment(environment: RecordedEnvironment) -> Iterator[tuple[str, str]]:
    """The variables that decide what was measured, the names of secrets, the number of the others."""
    yield from sorted(environment.values.items())
    if environment.secrets:
        yield "secrets", ", ".join(sorted(environment.secrets))
    if environment.digests:
        yield "others", f"{units.counted(len(environment.digests), 'variable')}, kept as digests"


def flat(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as dotted names and texts; empty values and values too long for a line are left out."""
    for key, value in facts.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from flat(value, f"{name}.")
        elif isinstance(value, list):
            text = (" " if name == "command" else ", ").join(str(item) for item in value)
            if len(text) <= MOST_CHARACTERS:
                yield name, text
        elif value is not None:
            yield name, _fact(key, value)


def _fact(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("_bytes"):
        return units.size(value)
    if name.endswith("_s") and value > 1e9:
        return units.exact_moment(value)
    return units.duration(value) if name.endswith("_s") else quantities.number(value)
