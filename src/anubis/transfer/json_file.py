"""Reading JSON of other tools, with a finding for every kind of error."""

import json
from typing import Any

from anubis.transfer.history_findings import Findings, shown

#: Result for a document that could not be read; the reason is in the findings.
BROKEN = object()


def parse(content: bytes | str, findings: Findings, *, line: int | None = None) -> Any:
    """The JSON value (UTF-8, -16 or -32, with or without a byte order mark), or BROKEN with a finding.

    ``line`` is the line number, if the content is one line of a file.
    """
    remedy = "write the file again with its tool, or give --format if it is in another format"
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        findings.error(f"not valid JSON: {error.msg}", remedy, line=line or error.lineno)
    except UnicodeDecodeError:
        findings.error("the text is not UTF-8", "save the file as UTF-8", line=line)
    except RecursionError:
        findings.error("the JSON is nested too deeply", remedy, line=line)
    except ValueError as error:  # an integer of more than 4,300 digits
        findings.error(f"not valid JSON: {error}", remedy, line=line)
    return BROKEN


def mapping(raw: Any, findings: Findings, path: str) -> dict[str, Any]:
    """The object at a path of the document; empty, with a finding, if it is another value."""
    if isinstance(raw, dict):
        return raw
    findings.error(
        f"expected an object, found {shown(raw)}",
        "check that it is an unchanged file of the tool, or give --format",
        path=path,
    )
    return {}


def listing(raw: Any, findings: Findings, path: str) -> list[Any]:
    """The array at a path of the document; empty, with a finding, if it is another value."""
    if isinstance(raw, list):
        return raw
    findings.error(
        f"expected a list, found {shown(raw)}",
        "check that it is an unchanged file of the tool, or give --format",
        path=path,
    )
    return []
