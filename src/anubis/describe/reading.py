"""Reading a descriptor: TOML text in, a Descriptor or every problem out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time
from types import MappingProxyType
from typing import Any

from anubis.describe import legacy
from anubis.describe.check import validation
from anubis.describe.check.limits import quoted
from anubis.describe.check.rules import check_rules
from anubis.describe.check.values import check_values
from anubis.describe.findings import Findings
from anubis.describe.instances import Instances
from anubis.describe.matrix.axes import normalise_matrix
from anubis.describe.matrix.cells import OLD, check_cells
from anubis.describe.overrides import override
from anubis.describe.paths import Path, leaves, put
from anubis.describe.rewriting import Edit, Rewriter
from anubis.describe.shorthand import normalise
from anubis.describe.toml.positions import Scan
from anubis.describe.toml.reader import open_text
from anubis.model.descriptor import Descriptor
from anubis.model.problem import Problem, Severity

#: The version of new files.
CURRENT = "1.0"
_NO_OVERRIDES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What reading a file gave."""

    #: None when any problem is an error.
    descriptor: Descriptor | None
    #: Errors and warnings in file order; those without a place come first.
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradableText:
    """A file read as far as its values, and the edits that would bring it to 1.0."""

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
    """Read a descriptor. Never raises for what the file holds: whatever is wrong is a problem.

    ``filename`` is used in messages. ``overrides`` maps dotted paths to values, as ``--set path=value`` gives them: TOML
    where it is valid TOML and the field is not text, else text. ``instances``: what is known of machine types (None: what
    Anubis ships).
    """
    return examine(text, filename=filename, overrides=overrides, instances=instances)[0]


def examine(
    text: str | bytes,
    *,
    filename: str = "",
    overrides: Mapping[str, str] = _NO_OVERRIDES,
    instances: Instances | None = None,
) -> tuple[Reading, UpgradableText | None]:
    """``read``, and what upgrading needs besides; None for that when the text is not TOML at all."""
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
    for section in ("info", "hardware"):
        tree.setdefault(section, {})
    descriptor = _check(rewriter, instances)
    reading = Reading(
        descriptor=None if findings.errors else descriptor,
        problems=findings.problems(),
    )
    return reading, UpgradableText(scan=scan, findings=findings, edits=tuple(rewriter.edits))


def _check(rewriter: Rewriter, instances: Instances | None) -> Descriptor | None:
    tree, findings = rewriter.tree, rewriter.findings
    check_values(tree, findings)
    descriptor = validation.descriptor(tree, findings)
    # Where there is a matrix, its cells are what runs: the rules between fields must hold there.
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
    """The version by whose rules the tree is read: a guess where the file names none that is known."""
    version = tree.get("spec_version")
    if version in (CURRENT, OLD):
        return str(version)
    guess = OLD if legacy.is_old(tree) else CURRENT
    path: Path = ("spec_version",)
    if version is None:
        remedy = f'add spec_version = "{guess}" at the top of the file'
        findings.error(path, "`spec_version` is missing", remedy)
    else:
        remedy = f'write spec_version = "{CURRENT}"; files of the old system have "{OLD}"'
        findings.error(path, f"{quoted(version)} is no version of the descriptor", remedy)
    tree["spec_version"] = guess
    return guess


def _refuse_dates(tree: dict[str, Any], findings: Findings) -> None:
    for path, value in list(leaves(tree)):
        if isinstance(value, (date, time)):
            findings.error(path, "a date or time has no place here", f'write text: "{value}"')
            put(tree, path, str(value))
