"""Reading a descriptor: from TOML text to a Descriptor or the list of all problems."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, time
from types import MappingProxyType
from typing import Any

from anubis.describe import legacy
from anubis.describe.check import validation
from anubis.describe.check.limits import quoted
from anubis.describe.check.rules import check_rules
from anubis.describe.check.values import check_values
from anubis.describe.defaults import CURRENT, DEFAULTS
from anubis.describe.findings import Findings
from anubis.describe.instances import Instances
from anubis.describe.matrix.axes import normalise_matrix
from anubis.describe.matrix.cells import OLD, check_cells
from anubis.describe.matrix.sweep_rules import check_sweep
from anubis.describe.overrides import override
from anubis.describe.paths import Path, get, leaves, put
from anubis.describe.rewriting import Edit, Rewriter
from anubis.describe.shorthand import normalise
from anubis.describe.toml.positions import Scan
from anubis.describe.toml.reader import open_text
from anubis.model.descriptor import Descriptor
from anubis.model.plain import to_plain
from anubis.model.problem import Problem, Severity

_NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The result of reading a descriptor."""

    #: None if any problem is an error.
    descriptor: Descriptor | None
    #: Errors and warnings in file order; those without a position come first.
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradableText:
    """The scanned text of a file and the edits that convert it to 1.0."""

    scan: Scan
    findings: Findings
    edits: tuple[Edit, ...]


def read(
    text: str | bytes,
    *,
    filename: str = "",
    overrides: Mapping[str, str] = _NO_OVERRIDES,
    instances: Instances | None = None,
) -> Reading:
    """Read a descriptor. Never raises for the content of the file; errors are returned as problems.

    ``filename`` is used in messages. ``overrides`` maps dotted paths to values, as in ``--set path=value``: a value is
    read as TOML if it is valid TOML and the field is not text, else as text. ``instances`` are the known machine types
    (None: the table that is part of Anubis).
    """
    return examine(text, filename=filename, overrides=overrides, instances=instances)[0]


def examine(
    text: str | bytes,
    *,
    filename: str = "",
    overrides: Mapping[str, str] = _NO_OVERRIDES,
    instances: Instances | None = None,
) -> tuple[Reading, UpgradableText | None]:
    """The result of ``read`` and the input of the upgrade, which is None if the text is not TOML."""
    opened = open_text(text, filename)
    if isinstance(opened, Problem):
        return Reading(descriptor=None, problems=(opened,)), None
    tree, scan = opened
    findings = Findings(scan)
    override(tree, overrides, findings)
    _refuse_dates(tree, findings)
    version = _version(tree, findings)
    rewriter = Rewriter(tree, findings, lenient=version == OLD)
    legacy.respell(rewriter)
    normalise(rewriter)
    normalise_matrix(rewriter)
    _complete(tree, lenient=rewriter.lenient)
    descriptor = _check(rewriter, instances)
    reading = Reading(
        descriptor=None if findings.errors else descriptor,
        problems=findings.problems(),
    )
    return reading, UpgradableText(scan=scan, findings=findings, edits=tuple(rewriter.edits))


def changed(descriptor: Descriptor, overrides: Mapping[str, str]) -> Reading:
    """The descriptor of a single run with further overrides, checked like a file."""
    tree = to_plain(replace(descriptor, matrix=None, sweep=None))
    tree["spec_version"] = descriptor.spec_version
    tree["info"].setdefault("description", "")
    findings = Findings()
    override(tree, overrides, findings)
    if "matrix" in tree:
        findings.error(("matrix",), "a single run has no matrix", "set the fields that the matrix varies")
        del tree["matrix"]
    rewriter = Rewriter(tree, findings, lenient=descriptor.spec_version == OLD)
    legacy.respell_strategy(rewriter)
    normalise(rewriter)
    found = _check(rewriter, None)
    return Reading(descriptor=None if findings.errors else found, problems=findings.problems())


def _check(rewriter: Rewriter, instances: Instances | None) -> Descriptor | None:
    tree, findings = rewriter.tree, rewriter.findings
    check_values(tree, findings, lenient=rewriter.lenient)
    check_sweep(tree, findings)
    descriptor = validation.descriptor(tree, findings)
    # With a matrix, each cell is a run: the rules between fields must hold for the cells.
    if isinstance(tree.get("matrix"), dict) and tree["matrix"]["axes"] and not _matrix_refused(findings):
        check_cells(tree, findings, instances)
    else:
        check_rules(tree, findings, lenient=rewriter.lenient, instances=instances)
    return descriptor


def _matrix_refused(findings: Findings) -> bool:
    return any(
        path[:1] == ("matrix",) and remark.severity is Severity.ERROR for path, remark in findings.remarks
    )


def _version(tree: dict[str, Any], findings: Findings) -> str:
    """The version whose rules apply to the tree: the current one unless the file is, or looks like, an old one."""
    version = tree.get("spec_version")
    if version in (CURRENT, OLD):
        return str(version)
    guess = OLD if legacy.is_old(tree) else CURRENT
    path: Path = ("spec_version",)
    if version is None and guess == OLD:
        remedy = f'add spec_version = "{OLD}" at the top of the file'
        findings.error(path, "`spec_version` is missing", remedy)
    elif version is not None:
        remedy = f'write spec_version = "{CURRENT}"; files of the old system have "{OLD}"'
        findings.error(path, f"{quoted(version)} is not a known version of the descriptor", remedy)
    tree["spec_version"] = guess
    return guess


def _complete(tree: dict[str, Any], *, lenient: bool) -> None:
    """Add the tables that the model requires and, in a new file, the values that a file may leave out."""
    for section in ("info", "hardware"):
        tree.setdefault(section, {})
    for path, value in () if lenient else DEFAULTS.items():
        section = get(tree, path[:-1])
        if isinstance(section, dict):
            section.setdefault(path[-1], value)


def _refuse_dates(tree: dict[str, Any], findings: Findings) -> None:
    for path, value in list(leaves(tree)):
        if isinstance(value, (date, time)):
            kind = "time" if isinstance(value, time) else "date"
            findings.error(path, f"expected a string, found a {kind}", f'write it in quotes: "{value}"')
            put(tree, path, str(value))
