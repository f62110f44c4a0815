"""``--set path=value``: values from outside the file, set before anything is checked."""

import tomllib
from collections.abc import Mapping
from typing import Any

from anubis.describe.check.limits import quoted
from anubis.describe.fields import kind_at
from anubis.describe.findings import Findings
from anubis.describe.paths import parsed, put


def override(tree: dict[str, Any], overrides: Mapping[str, str], findings: Findings) -> None:
    """Set each path of the tree. Paths the model does not know are left to the door, which suggests better ones."""
    for text, raw in overrides.items():
        path = parsed(text.strip())
        if path is None:
            findings.error((text,), f"{quoted(text)} is no path", "write --set section.key=value")
            continue
        if put(tree, path, value_for(kind_at(path), raw)):
            findings.overridden.add(path)
        else:
            message = f"{quoted(text)} leads to no place in this file"
            findings.error((text,), message, "name a table's key, or an entry that the list has")


def value_for(kind: Any, raw: str) -> Any:
    """The value as TOML reads it, else the text itself; where the model wants text, always text."""
    try:
        document = tomllib.loads(f"x = {raw}")
    except (ValueError, RecursionError):
        return raw
    value = document["x"]
    if len(document) > 1 or (kind is str and not isinstance(value, str)):
        return raw
    return value
