"""The cells of a matrix: their checks while a file is read, and their descriptors."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from anubis.describe.check import validation
from anubis.describe.check.limits import quoted
from anubis.describe.check.rules import check_rules
from anubis.describe.check.values import check_values
from anubis.describe.findings import Findings, Remark
from anubis.describe.instances import Instances
from anubis.describe.legacy import respell_strategy
from anubis.describe.matrix.axes import axis_path, cell_tree, combinations
from anubis.describe.paths import Path, leaves
from anubis.describe.rewriting import Rewriter
from anubis.describe.shorthand import normalise
from anubis.model.descriptor import Descriptor, Matrix
from anubis.model.errors import BadInputError
from anubis.model.plain import to_plain

#: The version of the old system's files, which are read leniently.
OLD = "0.1.0"
#: Number of cells checked while reading; of a larger sweep, also one cell for each further value of an axis.
_CHECKED_WHILE_READING = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of a matrix as a separate descriptor."""

    descriptor: Descriptor
    #: Axis -> its value in this cell; empty without a matrix.
    values: dict[str, Any]


def cells(descriptor: Descriptor, *, instances: Instances | None = None) -> tuple[Cell, ...]:
    """Every cell of the matrix, each checked like a separate file; without a matrix, the descriptor itself.

    The last axis varies fastest. Raises BadInputError with the problems of every cell that is not valid.
    """
    if descriptor.matrix is None:
        return (Cell(descriptor=descriptor, values={}),)
    check = _check_of(descriptor, descriptor.matrix, instances)
    found = [(check.descriptor(values), values) for values in combinations(descriptor.matrix)]
    if check.findings.errors:
        raise _refused(check.findings)
    return tuple(Cell(descriptor=cell, values=values) for cell, values in found if cell is not None)


def cell_reader(descriptor: Descriptor) -> Callable[[Mapping[str, Any]], Descriptor]:
    """Return a function from the values of a cell to its descriptor, for callers that need a few of many cells.

    The function raises BadInputError with the problems of a cell that is not valid.
    """
    assert descriptor.matrix is not None
    check = _check_of(descriptor, descriptor.matrix, None)

    def read(values: Mapping[str, Any]) -> Descriptor:
        cell = check.descriptor(values)
        if cell is None:
            raise _refused(check.findings)
        return cell

    return read


def _check_of(descriptor: Descriptor, matrix: Matrix, instances: Instances | None) -> "CellCheck":
    base = to_plain(replace(descriptor, matrix=None, sweep=None))
    base["spec_version"] = descriptor.spec_version
    base["info"].setdefault("description", "")
    findings = Findings()
    check_values(base, findings, lenient=descriptor.spec_version == OLD)
    return CellCheck(base=base, matrix=matrix, findings=findings, instances=instances)


def _refused(findings: Findings) -> BadInputError:
    return BadInputError(
        "the matrix has cells that are not valid",
        remedy="exclude them, or correct their values",
        problems=findings.problems(),
    )


def check_cells(tree: Mapping[str, Any], findings: Findings, instances: Instances | None) -> None:
    """Check enough cells of a tree in the shape of the model to cover every value of every axis."""
    matrix = Matrix(
        axes={key: tuple(values) for key, values in tree["matrix"]["axes"].items()},
        exclude=tuple(tree["matrix"]["exclude"]),
        include=tuple(tree["matrix"].get("include", ())),
    )
    base = {key: value for key, value in tree.items() if key != "sweep"}
    check = CellCheck(base=base, matrix=matrix, findings=findings, instances=instances)
    for values in _covering(matrix):
        check.descriptor(values)


def _covering(matrix: Matrix) -> Iterator[dict[str, Any]]:
    every = combinations(matrix)
    yield from islice(every, _CHECKED_WHILE_READING)
    unseen = {(key, repr(value)) for key, values in matrix.axes.items() for value in values}
    included = {id(entry) for entry in matrix.include}
    for values in every:
        new = unseen & {(key, repr(value)) for key, value in values.items()}
        if new or id(values) in included:
            unseen -= new
            yield values


@dataclass(slots=True, kw_only=True)
class CellCheck:
    """Checks the cells of one base; each finding is reported once, at the axis that causes it.

    The values of the base were checked before: ``findings`` contains what was found.
    """

    base: Mapping[str, Any]
    matrix: Matrix
    findings: Findings
    instances: Instances | None
    #: Findings about the base itself.
    _shared: set[tuple[Path, Remark]] = field(init=False)
    _reported: set[tuple[Path, Remark]] = field(init=False, default_factory=set)
    _known: dict[Path, Any] = field(init=False)

    def __post_init__(self) -> None:
        base = Findings()
        check_rules(self.base, base, lenient=self._lenient, instances=self.instances)
        self._shared = {*base.remarks, *self.findings.remarks}
        self._known = dict(leaves(self.base))

    @property
    def _lenient(self) -> bool:
        return self.base.get("spec_version") == OLD

    def descriptor(self, values: Mapping[str, Any]) -> Descriptor | None:
        """The descriptor of one cell; None, with the reasons in ``findings``, if it is not valid."""
        tree = cell_tree(self.base, values)
        if tree is None:
            for key in values:
                if cell_tree(self.base, {key: values[key]}) is None:
                    self.findings.error(
                        ("matrix", key),
                        f"{quoted(key)} does not exist in this file",
                        "use the index of an existing list entry",
                    )
            return None
        cell = Findings()
        rewriter = Rewriter(tree, cell, lenient=self._lenient)
        respell_strategy(rewriter)
        normalise(rewriter)
        check_values(tree, cell, lenient=self._lenient, known=self._known)
        check_rules(tree, cell, lenient=self._lenient, instances=self.instances)
        descriptor = validation.descriptor(tree, cell)
        for path, remark in cell.remarks:
            self._report(path, remark, values)
        return None if cell.errors else descriptor

    def _report(self, path: Path, remark: Remark, values: Mapping[str, Any]) -> None:
        axis = next((key for key in values if _touches(path, axis_path(key))), None)
        if axis is not None:
            self.findings.add(self._place(axis, values), remark)
        elif (path, remark) in self._shared:
            self.findings.add(path, remark)
        elif (path, remark) not in self._reported:
            self._reported.add((path, remark))
            cell = ", ".join(f"{key} = {quoted(value)}" for key, value in values.items())
            self.findings.add(path, replace(remark, message=f"{remark.message} (in the cell {cell})"))

    def _place(self, axis: str, values: Mapping[str, Any]) -> Path:
        """The path of the value of an axis in the file: in the axis, else in the entry of ``include``."""
        if values[axis] in self.matrix.axes[axis]:
            return ("matrix", axis, self.matrix.axes[axis].index(values[axis]))
        return ("matrix", "include", self.matrix.include.index(dict(values)), axis)


def _touches(path: Path, axis: Path) -> bool:
    shorter = min(len(path), len(axis))
    return path[:shorter] == axis[:shorter]
