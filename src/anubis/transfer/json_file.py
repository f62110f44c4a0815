"""JSON from other tools: read once, every way it can be broken named."""

import json
from typing import Any

from anubis.transfer.history_findings import Findings, shown

#: Stands for a document that could not be read; the reason is among the findings.
BROKEN = object()


def parse(content: bytes | str, findings: Findings, *, line: int | None = None) -> Any:
    """The JSON value (UTF-8, -16 or -32, with or without a byte order mark), or BROKEN with the reason noted.

    ``line`` is where the content stands in its file, when it is one line of several.
    """
    remedy = "write the file again with its tool, or give --format if it is in another format"
    try:
        return json.loads(content)
    except json.JSONDecodeError as error:
        findings.error(f"no valid JSON: {error.msg}", remedy, line=line or error.lineno)
    except UnicodeDecodeError:
        findings.error("the text is not UTF-8", "save the file as UTF-8", line=line)
    except RecursionError:
        findings.error("the JSON is nested too deeply", remedy, line=line)
    except ValueError as error:  # an integer of more than 4,300 digits
        findings.error(f"no valid JSON: {error}", remedy, line=line)
    return BROKEN


def mapping(raw: Any, findings: Findings, path: str) -> dict[str, Any]:
    """The object at a place of the document; empty, with the finding noted, when something else stands there."""
    if isinstance(raw, dict):
        return raw
    findings.error(
        f"an object was expected, found {shown(raw)}",
        "check that the file is what its tool wrote, or give --format",
        path=path,
    )
    return {}


def listing(raw: Any, findings: Findings, path: str) -> list[Any]:
    """The array at a place of the document; empty, with the finding noted, when something else stands there."""
    if isinstance(raw, list):
        return raw
    findings.error(
        f"a list was expected, found {shown(raw)}",
        "check that the file is what its tool wrote, or give --format",
        path=path,
    )
    return []
