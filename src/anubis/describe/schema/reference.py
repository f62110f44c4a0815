"""The reference page of the descriptor, generated from the model, the limits and the examples."""

import dataclasses
import typing
from collections.abc import Iterator
from enum import Enum
from typing import Any

from anubis.describe import examples
from anubis.describe.check.limits import LIMITS
from anubis.describe.check.schedules import NAMES
from anubis.describe.check.values import NOTIFY_ON
from anubis.describe.fields import Field, all_fields, docs, members, section_of
from anubis.describe.legacy import PROBES, STRATEGIES
from anubis.describe.matrix.axes import MAX_CELLS
from anubis.describe.schema.json_schema import default_of, is_required
from anubis.model.descriptor import Descriptor, Matrix
from anubis.model.labels import SYSTEM_LABELS, SYSTEM_PREFIX

_TYPES = {bool: "true or false", int: "whole number", float: "number", str: "text"}
#: Notes in addition to meaning and limit, by field pattern.
_NOTES = {
    "spec_version": '`"0.1.0"` is the version of the old system\'s files.',
    "info.execution_engine": "`anubis doctor` lists the installed engines.",
    "info.labels": "Reserved names cannot be used, see below.",
    "hardware.distributed.processes_per_instance": "A number may be written without quotes.",
    "env.docker_image": "Needed on engines that run containers only.",
    "ml.benchmark_code": "Needed without an image.",
    "ml.framework_version": "Only with a framework.",
    "data.sources[].digest": 'An MD5 may also be written as `md5 = "..."`.',
    "server.models[].digest": 'An MD5 may also be written as `md5 = "..."`.',
    "output.metrics[].threshold.change": 'Also as `"5%"`.',
    "output.metrics[].threshold.min_effect": 'Also as `"2%"`.',
    "server.env.readiness_probe": 'Also as a URL: `"http://localhost:8080/ping"`; the host is always the server.',
    "server.env.liveness_probe": 'Also as a URL: `"http://localhost:8080/ping"`; the host is always the server.',
    "notify[].to": "The scheme must be that of an installed notifier; `anubis doctor` lists them.",
    "notify[].on": f"Any of {', '.join(f'`{name}`' for name in NOTIFY_ON)}.",
}


def reference_markdown() -> str:
    """Every section and field of a 1.0 descriptor and the accepted old spellings, as Markdown."""
    parts = [_table(Descriptor, "")]
    for found in all_fields():
        section = section_of(found.kind)
        if section is Matrix:
            parts.append(_MATRIX)
        elif section is not None:
            parts.append(_table(section, found.pattern, listed=_is_list(found.kind)))
    return "\n\n".join([*parts, _EXTENDS, _schedules(), _labels(), _old_spellings()]) + "\n"


def _is_list(kind: Any) -> bool:
    return typing.get_origin(kind) is tuple


def _table(section: type, pattern: str, *, listed: bool = False) -> str:
    header = pattern.replace("[]", "")
    title = (
        f"## [{'[' if listed else ''}{header}{']' if listed else ''}]"
        if pattern
        else "## The top of the file"
    )
    prefix = f"{pattern}{'[]' if listed else ''}." if pattern else ""
    rows = [
        f"| {_key(member, prefix)} | {_type(member)} | {_default(member, prefix)} | {_meaning(member, prefix)} |"
        for member in members(section).values()
        if pattern or section_of(member.kind) is None
    ]
    intro = f"\n\n{_sentence(section)}" if pattern else ""
    return "\n".join(
        [f"{title}{intro}", "", "| Key | Value | Default | Meaning |", "|---|---|---|---|", *rows]
    )


def _sentence(section: type) -> str:
    return " ".join((section.__doc__ or "").split("\n\n")[0].split()).replace("``", "`")


def _key(member: Field, prefix: str) -> str:
    return f"`{member.name}`" + (" (required)" if is_required(member, prefix + member.name) else "")


def _type(member: Field) -> str:
    kind = member.kind
    origin = typing.get_origin(kind)
    if section_of(kind) is not None:
        return "tables, see below" if origin is tuple else "table, see below"
    if origin is tuple:
        item = typing.get_args(kind)[0]
        return f"list of {item.__name__.lower() if issubclass(item, Enum) else _TYPES[item]}s"
    if origin is dict:
        item = typing.get_args(kind)[1]
        return "table" if item is Any else f"table of {_TYPES[item]}s"
    if issubclass(kind, Enum):
        return ", ".join(f"`{option.value}`" for option in kind)
    return _TYPES[kind]


def _default(member: Field, prefix: str) -> str:
    value = default_of(member, prefix + member.name)
    if (
        is_required(member, prefix + member.name)
        or value in (None, (), {}, "")
        or dataclasses.is_dataclass(value)
    ):
        return ""
    value = value.value if isinstance(value, Enum) else value
    return f"`{examples.value_text(list(value) if isinstance(value, tuple) else value)}`"


def _meaning(member: Field, prefix: str) -> str:
    pattern = prefix + member.name
    sentences = [docs(member.owner)[member.name]]
    if (limit := LIMITS.get(pattern) or LIMITS.get(f"{pattern}.*") or LIMITS.get(f"{pattern}[]")) is not None:
        sentences.append(f"Must be {limit.words()}.")
    own = pattern.removeprefix("server.") if pattern.startswith("server.output.") else pattern
    if own in _NOTES:
        sentences.append(_NOTES[own])
    example = examples.EXAMPLES.get(pattern)
    if example is not None and not (isinstance(example, bool) or issubclass(_enum(member), Enum)):
        sentences.append(f"Example: `{examples.value_text(example)}`.")
    return " ".join(sentences).replace("|", "\\|")


def _enum(member: Field) -> type:
    kind = member.kind
    return kind if isinstance(kind, type) else object


def _rows(*columns: str, rows: Iterator[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _schedules() -> str:
    names = _rows("Name", "Fields", rows=((f"`{name}`", f"`{fields}`") for name, fields in NAMES.items()))
    return f"{_SCHEDULES}\n\n{names}"


def _labels() -> str:
    names = ", ".join(f"`{name}`" for name in sorted(SYSTEM_LABELS))
    return (
        f"## Reserved labels\n\nA label must not have one of these names, or a name that begins with `{SYSTEM_PREFIX}-`. "
        f"`-`, `.` and `_` are equivalent here, and case is ignored: {names}."
    )


def _old_spellings() -> str:
    spellings = [
        ("`info.task_name`, `info.labels.task_name`", "`info.name`, made a label"),
        ("no name", "`info.name` from the description"),
        ("`uri`", "`src`"),
        *((f"`server.env.{old}`", f"`server.env.{new}`") for old, new in PROBES.items()),
        ("`timout_seconds`", "`timeout_seconds`"),
        *((f'`strategy = "{old}"`', f'`strategy = "{new.value}"`') for old, new in STRATEGIES.items()),
        ('`num_instances = "4"`', "`num_instances = 4`"),
        ('`md5 = ""`', "removed"),
        ('`md5 = "sha256:..."`', '`digest = "sha256:..."`'),
        ('`metrics = ["accuracy"]`', "one `[[output.metrics]]` for each, without a pattern"),
        ("a metric without `units`", '`units = "none"`'),
        ("a metric without `required`", "`required = false`"),
        ("`data.id`", "removed"),
        ('`path = "~/data"`, `path = "data"`', '`path = "/root/data"`, `path = "/data"`'),
        ("two sources at one path", "a different path for each; old files share one folder"),
        (
            "`server.hardware.availability_zone`, `aws_zone_id`",
            "removed: the server runs in the client's zone",
        ),
        ("`env.image` or `aws.ec2.image` on the engine `aws.ec2`", "`env.docker_image`"),
    ]
    return f"{_OLD}\n\n" + _rows("Old", "New", rows=iter(spellings))


_MATRIX = f"""## [matrix]

A sweep: every combination of the axes is a run of one family, except the combinations in `exclude`. An axis is the quoted
path of a field and its values: a list, or a range that multiplies (`times`) or adds (`step`). Numbers become text if the
field is text. `seeds` is short for the axis `"env.vars.SEED"`. An entry of `include` adds one cell: values of one axis or more,
which need not be in the lists; the other axes keep the value of the file. At most {MAX_CELLS:,} cells.

```toml
[matrix]
"hardware.instance_type" = ["c5.xlarge", "c5.2xlarge"]
"env.vars.BATCH" = {{ from = 16, to = 256, times = 2 }}
"measure.repeats" = {{ from = 1, to = 9, step = 4 }}
seeds = [1, 2, 3]
exclude = [{{ "hardware.instance_type" = "c5.xlarge", "env.vars.BATCH" = "256" }}]
include = [{{ "hardware.instance_type" = "c5.4xlarge", "env.vars.BATCH" = "512", seeds = 1 }}]
```"""

_EXTENDS = """## extends

`extends = "base.toml"` at the top of a file, or `extends = ["base.toml", "gpu.toml"]`, bases it on other files. Paths are relative to
the file. A base may extend further files; files that extend each other are refused. `--overlay FILE` changes a descriptor from
the command line. Later layers replace values of earlier ones: the bases in order, the file, the overlays in order, `--set`.

Tables are merged by key. Every other value is replaced as a whole, lists and lists of tables (`[[output.metrics]]`) too. A
key cannot be removed, only set to another value. `anubis descriptor FILE --resolved` shows the origin of every value."""

_SCHEDULES = """## Schedules

`info.scheduling` is `single_run`, one of the names below, or a cron expression of five fields: minute (0-59), hour (0-23),
day of month (1-31), month (1-12 or JAN-DEC), day of week (0-7 or SUN-SAT, 0 and 7 are Sunday). A field is `*`, a number, a
range `1-5`, a list `1,3`, each with a step `/2`; `L` is the last day of the month, `MON#1` its first Monday, `5L` its last
Friday. Times are in `info.timezone`. With daylight saving time, a fixed time that is skipped is due directly after the change, and
one that is repeated is due once; if minute or hour begins with `*`, elapsed time counts. `@reboot`, `?` and six fields are refused."""

_OLD = """## Files of the old system

A file with `spec_version = "0.1.0"` is read leniently: each of these is accepted, with a warning that names the new
spelling. In a file with `spec_version = "1.0"` they are errors (old names of strategies: a warning).
`anubis validate --upgrade FILE` prints the file in the new spelling, with its comments."""
