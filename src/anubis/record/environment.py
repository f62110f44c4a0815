"""``environment.json``: the environment of a benchmark as the record keeps it, without the values of secrets.

Values are kept of the variables that decide what is measured. Other variables are kept as digests with the key of the
installation; of secrets only the name is kept.
"""

from __future__ import annotations

import json

from anubis.record import layout
from anubis.record.files import read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from anubis.record.files import Files

VERSION = 1


class RecordedEnvironment:
    """The recorded environment of one role and rank."""

    __slots__ = ("digests", "key", "secrets", "values")

    def __init__(
        self, values: Mapping[str, str], digests: Mapping[str, str], secrets: frozenset[str], key: str
    ) -> None:
        #: Variable -> value.
        self.values = values
        #: Variable -> keyed digest of its value.
        self.digests = digests
        #: Variables with secrets.
        self.secrets = secrets
        #: Names the key of the digests: only digests with the same key can be compared.
        self.key = key

    def with_value(self, name: str, value: str) -> RecordedEnvironment:
        """The environment with another value."""
        return RecordedEnvironment({**self.values, name: value}, self.digests, self.secrets, self.key)


def content(environment: RecordedEnvironment) -> bytes:
    """The content of the file."""
    rows = {
        "version": VERSION,
        "values": dict(environment.values),
        "digests": dict(environment.digests),
        "secrets": sorted(environment.secrets),
        "key": environment.key,
    }
    return json.dumps(rows, sort_keys=True).encode() + b"\n"


def recorded(files: Files) -> RecordedEnvironment | None:
    """The environment in a record; None where there is no valid file."""
    rows = read_json(files, layout.ENVIRONMENT)
    if not rows:
        return None
    secrets = rows.get("secrets")
    names = secrets if isinstance(secrets, list) else []
    return RecordedEnvironment(
        _texts(rows.get("values")),
        _texts(rows.get("digests")),
        frozenset(name for name in names if isinstance(name, str)),
        str(rows.get("key", "")),
    )


def _texts(rows: Any) -> dict[str, str]:
    """The entries that are text."""
    entries = rows.items() if isinstance(rows, dict) else ()
    return {name: value for name, value in entries if isinstance(value, str)}
