"""Sweeps: the cross product of the axes of a matrix; each cell is a separate descriptor."""

import itertools
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from anubis.describe.check.limits import LARGEST, quoted
from anubis.describe.check.values import remarks
from anubis.describe.fields import UNKNOWN, kind_at, members, section_of
from anubis.describe.findings import Findings, did_you_mean, nearest
from anubis.describe.paths import Path, copied, parsed, put
from anubis.describe.rewriting import Rewriter
from anubis.model.descriptor import Descriptor, Matrix

#: Maximum number of cells; larger sweeps must be split.
MAX_CELLS = 10_000
#: Maximum number of axes, and of entries of ``exclude``.
_MAX_ENTRIES = 500
#: Sections that a matrix cannot vary.
FIXED = ("spec_version", "matrix", "sweep", "notify")
#: Keys of the section that are not axes, and the axis that ``seeds`` abbreviates.
_LISTS = ("exclude", "include")
SEEDS, SEED_AXIS = "seeds", "env.vars.SEED"


def normalise_matrix(rewriter: Rewriter) -> None:
    """Convert ``[matrix]`` to the shape of the model: the values of every axis as a list."""
    tree, findings = rewriter.tree, rewriter.findings
    written = tree.get("matrix")
    if not isinstance(written, dict):
        return
    findings.moved[("matrix", "axes")] = ("matrix",)
    lists = {name: written.get(name, []) for name in _LISTS}
    if len(written) > _MAX_ENTRIES or any(
        isinstance(entries, list) and len(entries) > _MAX_ENTRIES for entries in lists.values()
    ):
        message = f"the matrix has more than {_MAX_ENTRIES} axes or entries of exclude or include"
        findings.error(("matrix",), message, "split it into several descriptors")
        del tree["matrix"]
        return
    axes = _axes(written, findings)
    exclude = _exclude(lists["exclude"], axes, findings)
    include = _include(lists["include"], axes, exclude, findings)
    tree["matrix"] = {"axes": axes, "exclude": exclude, **({"include": include} if include else {})}
    _check_overlap(axes, findings)
    if not written.keys() - {*_LISTS}:
        findings.error(
            ("matrix",), "the matrix has no axis", 'add one, such as "env.vars.BATCH" = ["16", "32"]'
        )
    if (count := math.prod(map(len, axes.values())) + len(include)) > MAX_CELLS:
        shown = f"{count:,} cells, more" if count < 10**15 else "far more cells"
        message = f"the matrix has {shown} than {MAX_CELLS:,}"
        findings.error(("matrix",), message, "take fewer values, or split it into several descriptors")
    elif axes and next(combinations(_matrix(axes, exclude, include)), None) is None:
        findings.error(("matrix", "exclude"), "every cell is excluded", "remove entries of exclude")


def axis_path(key: str) -> Path:
    """The path that an axis varies."""
    path = parsed(key)
    assert path is not None, key
    return path


def combinations(matrix: Matrix) -> Iterator[dict[str, Any]]:
    """The values of every cell that is not excluded, the last axis changing first; then the included cells."""
    for combination in itertools.product(*matrix.axes.values()):
        values = dict(zip(matrix.axes, combination, strict=True))
        if not any(all(values[key] == value for key, value in entry.items()) for entry in matrix.exclude):
            yield values
    yield from matrix.include


def cell_tree(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The base with the values of one cell; None if a path does not exist in it."""
    tree = copied({key: value for key, value in base.items() if key != "matrix"})
    placed = [put(tree, axis_path(key), copied(value)) for key, value in values.items()]
    return tree if all(placed) else None


def _matrix(
    axes: dict[str, list[Any]], exclude: list[dict[str, Any]], include: list[dict[str, Any]]
) -> Matrix:
    tuples = {key: tuple(values) for key, values in axes.items()}
    return Matrix(axes=tuples, exclude=tuple(exclude), include=tuple(include))


def _axes(written: Mapping[str, Any], findings: Findings) -> dict[str, list[Any]]:
    """The valid axes with their values; ``seeds`` becomes the axis of the variable SEED."""
    axes: dict[str, list[Any]] = {}
    for key, values in written.items():
        if key in _LISTS:
            continue
        axis = SEED_AXIS if key == SEEDS else key
        if key == SEEDS and SEED_AXIS in written:
            message = f"`seeds` and {quoted(SEED_AXIS)} are the same axis"
            findings.error(("matrix", key), message, "remove one of them")
            continue
        if key == SEEDS:
            findings.moved[("matrix", SEED_AXIS)] = ("matrix", SEEDS)
        if (expanded := _axis(axis, values, findings)) is not None:
            axes[axis] = expanded
    return axes


def _dotted(key: str, written: Any) -> str:
    """The path that was written without quotes, which TOML reads as tables within tables."""
    while isinstance(written, dict) and written:
        inner, written = next(iter(written.items()))
        key = f"{key}.{inner}"
    return key


def _axis(key: str, written: Any, findings: Findings) -> list[Any] | None:
    """The values of one axis; None, with the reason in ``findings``, if it is not valid."""
    at: Path = ("matrix", key)
    path = parsed(key)
    before = findings.errors
    if isinstance(written, dict) and written and not written.keys() & {"from", "to", "step", "times"}:
        remedy = f'write it in quotes: "{_dotted(key, written)}" = [...]'
        findings.error(at, "the path of an axis must be one quoted key", remedy)
    elif path is None or path[0] in FIXED or kind_at(path) is UNKNOWN:
        findings.error(at, f"a matrix cannot vary {quoted(key)}", _path_remedy(path))
    elif isinstance(written, dict):
        written = _range(at, written, findings)
    elif not isinstance(written, list):
        example = "[1, 2, 3], or { from = 1, to = 3 }" if key == SEED_AXIS else f"[{quoted(written)}]"
        findings.error(at, "an axis must be a list of values or a range", f"write {example}")
    elif not written:
        findings.error(at, "the axis has no value", "add one, or remove the axis")
    if path is None or findings.errors > before:
        return None
    values = [fitting(path, value) for value in written]
    _check_axis(at, path, values, findings)
    return values if findings.errors == before else None


def _check_axis(at: Path, path: Path, values: list[Any], findings: Findings) -> None:
    seen = set()
    for index, value in enumerate(values):
        if repr(value) in seen:
            message = f"the axis has {quoted(value)} twice"
            findings.error((*at, index), message, "remove one; measure.repeats repeats")
        seen.add(repr(value))
        if not isinstance(value, (dict, list)):
            for remark in remarks(path, value):
                findings.add((*at, index), remark)


def _path_remedy(path: Path | None) -> str:
    if path is not None and len(path) == 1 and nearest(str(path[0]), (SEEDS,)):
        return f"did you mean `{SEEDS}`?"
    for length in range(len(path or ()), 0, -1):
        assert path is not None
        section = section_of(kind_at(path[: length - 1])) if length > 1 else Descriptor
        if section is not None and path[0] not in FIXED:
            return did_you_mean(str(path[length - 1]), members(section))
    return 'write a path such as "env.vars.BATCH"'


def fitting(path: Path, value: Any) -> Any:
    """The value converted for its field: numbers become text for text fields."""
    if kind_at(path) is str and isinstance(value, (int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return value


def _range(at: Path, written: dict[str, Any], findings: Findings) -> list[Any] | None:
    """The values of ``{ from, to, step }`` or ``{ from, to, times }``; includes ``to`` if a step reaches it exactly."""
    keys = written.keys()
    numbers = all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST
        for value in written.values()
    )
    if not numbers or keys not in ({"from", "to", "step"}, {"from", "to", "times"}):
        remedy = "write { from = 16, to = 256, times = 2 } or { from = 16, to = 256, step = 16 }"
        findings.error(at, "a range needs the numbers from, to and either step or times", remedy)
        return None
    low, high = _decimal(written["from"]), _decimal(written["to"])
    whole = all(isinstance(value, int) for value in written.values())
    if "step" in keys:
        values = _stepped(low, high, _decimal(written["step"]))
    else:
        values = _multiplied(low, high, _decimal(written["times"]))
    if values is None:
        findings.error(
            at, "the range is infinite", "step must not be 0; times must be above 1 and `from` above 0"
        )
        return None
    found = list(itertools.islice(values, MAX_CELLS + 1))
    if not found or len(found) > MAX_CELLS:
        message = f"the range has more than {MAX_CELLS:,} values" if found else "the range has no value"
        findings.error(at, message, "change from, to or the step")
        return None
    return [int(value) if whole else float(value) for value in found]


def _decimal(number: float) -> Decimal:
    """The number as written, so that ten steps of 0.1 add up to 1."""
    return Decimal(repr(number))


def _stepped(low: Decimal, high: Decimal, step: Decimal) -> Iterator[Decimal] | None:
    if step == 0:
        return None
    return itertools.takewhile(
        lambda value: value <= high if step > 0 else value >= high,
        (low + step * index for index in itertools.count()),
    )


def _multiplied(low: Decimal, high: Decimal, times: Decimal) -> Iterator[Decimal] | None:
    if times <= 1 or low <= 0:
        return None
    return itertools.takewhile(
        lambda value: value <= high, (low * times**index for index in itertools.count())
    )


def _exclude(written: Any, axes: dict[str, list[Any]], findings: Findings) -> list[dict[str, Any]]:
    kept = []
    for at, fitted in _entries("exclude", written, axes, findings):
        for key, value in fitted.items():
            if value not in axes[key]:
                findings.warn(
                    (*at, key), f"the axis does not have the value {quoted(value)}", "use one of its values"
                )
        kept.append(fitted)
    return kept


def _include(
    written: Any, axes: dict[str, list[Any]], exclude: list[dict[str, Any]], findings: Findings
) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    for at, entry in _entries("include", written, axes, findings):
        ordered = {key: entry[key] for key in axes if key in entry}
        is_excluded = any(all(ordered.get(key) == value for key, value in out.items()) for out in exclude)
        is_cell = len(ordered) == len(axes) and all(value in axes[key] for key, value in ordered.items())
        if ordered in kept or (is_cell and not is_excluded):
            findings.error(at, "this cell exists already", "remove the entry; measure.repeats repeats")
        else:
            kept.append(ordered)
    return kept


def _entries(
    name: str, written: Any, axes: dict[str, list[Any]], findings: Findings
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The valid entries of ``exclude`` or ``include`` with their paths; values are converted for their fields."""
    at: Path = ("matrix", name)
    if not isinstance(written, list) or not all(isinstance(entry, dict) and entry for entry in written):
        findings.error(at, f"{name} must be a list of tables", 'write [{ "env.vars.BATCH" = "256" }]')
        return
    for index, entry in enumerate(written):
        renamed = {SEED_AXIS if key == SEEDS else key: value for key, value in entry.items()}
        unknown = [key for key in renamed if key not in axes]
        for key in unknown:
            findings.error(
                (*at, index, key), f"{quoted(key)} is not an axis of this matrix", did_you_mean(key, axes)
            )
        if not unknown:
            yield (*at, index), {key: fitting(axis_path(key), value) for key, value in renamed.items()}


def _check_overlap(axes: Mapping[str, Any], findings: Findings) -> None:
    """Report axes that overwrite each other: of one field, or of a field and its section."""
    places = {key: axis_path(key) for key in axes}
    for (one, first), (other, second) in itertools.combinations(places.items(), 2):
        short = min(len(first), len(second))
        if first[:short] == second[:short]:
            message = f"{quoted(other)} and {quoted(one)} overwrite each other"
            findings.error(("matrix", other), message, "vary one of the two")
