"""``--set path=value``: values that replace those of the file before it is checked."""

import tomllib
from collections.abc import Mapping
from typing import Any

from anubis.describe.check.limits import quoted
from anubis.describe.fields import kind_at
from anubis.describe.findings import Findings
from anubis.describe.paths import parsed, put


def override(tree: dict[str, Any], overrides: Mapping[str, str], findings: Findings) -> None:
    """Set each path of the tree. Unknown paths are reported later by the validation, with suggestions."""
    for text, raw in overrides.items():
        path = parsed(text.strip())
        if path is None:
            findings.error((text,), f"{quoted(text)} is not a valid path", "write --set section.key=value")
            continue
        if put(tree, path, value_for(kind_at(path), raw)):
            findings.overridden.add(path)
        else:
            message = f"{quoted(text)} does not exist in this file"
            findings.error((text,), message, "use the key of a table, or the index of an existing list entry")


def value_for(kind: Any, raw: str) -> Any:
    """The value as TOML, else the text itself; for text fields always the text."""
    try:
        document = tomllib.loads(f"x = {raw}")
    except (ValueError, RecursionError):
        return raw
    value = document["x"]
    if len(document) > 1 or (kind is str and not isinstance(value, str)):
        return raw
    return value
