"""The settings of an installation, read from the environment. ``python -m anubis.settings`` prints the reference table."""

import hashlib
import inspect
import math
import os
import pwd
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from anubis.model.errors import BadInputError
from anubis.model.problem import Problem
from anubis.record import layout

_DATABASES = ("sqlite://", "postgresql://", "postgresql+psycopg://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one installation. The variable of a field is ``ANUBIS_`` and its name in capitals.

    The reference page is generated from the comments above the fields: meaning, unit and, if it is computed, the
    default.
    """

    #: Folder of all data of Anubis: database, records, fetched data; path; `~/.anubis`
    home: Path
    #: Database: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`; URL; SQLite, `anubis.db` in the home folder
    database_url: str = field(repr=False)  # it may hold a password
    #: Id of the submitting user, shown in listings; text; SHA-1 of `user+host`
    client_id: str
    #: Engine of descriptors without an engine; name
    engine: str = "process"
    #: Number of runs measured at the same time on this machine; more than one disturb each other; runs
    process_slots: int = field(default=1, metadata={"least": 1})
    #: Time after which the runs of an unresponsive process may be claimed by another one; seconds
    lease_s: float = field(default=30.0, metadata={"least": 1})
    #: Free space under the home folder below which no run is placed; bytes
    min_free_bytes: int = 256 << 20

    @property
    def records(self) -> Path:
        """Folder of the records of all runs."""
        return self.home / layout.RECORDS

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """The settings in ``environ``; an empty variable counts as unset.

        Raises BadInputError with one problem for each variable that is not valid.
        """
        problems: list[Problem] = []
        values: dict[str, Any] = {}
        for spec in fields(cls):
            text = environ.get(variable(spec.name), "").strip()
            if text:
                try:
                    values[spec.name] = _read(spec.name, spec.type, text, spec.metadata.get("least", 0))
                except ValueError as error:
                    shown = text.partition("://")[0]  # an address may hold a password
                    problems.append(_problem(spec.name, f"{shown!r} is not {error}", f"set it to {error}"))
        if "home" not in values:
            try:
                values["home"] = _user_home(environ) / ".anubis"
            except KeyError:
                problems.append(_problem("home", "this user has no home folder", "set it to a folder"))
        if problems:
            names = ", ".join(problem.path for problem in problems)
            raise BadInputError(
                f"the environment contains settings that are not valid: {names}",
                remedy="correct or unset them; docs/reference/settings.md lists every setting",
                problems=problems,
            )
        values.setdefault("database_url", f"sqlite:///{values['home'] / 'anubis.db'}")
        values.setdefault("client_id", _client_id(environ))
        return cls(**values)


def variable(name: str) -> str:
    """The environment variable of a field."""
    return f"ANUBIS_{name.upper()}"


def reference() -> str:
    """Every setting as a Markdown table: variable, meaning, unit, default."""
    about = dict(re.findall(r"#: (.*)\n    (\w+):", inspect.getsource(Settings)))
    by_field = {name: line.split("; ") for line, name in about.items()}
    rows = ["| Variable | Meaning | Unit | Default |", "|---|---|---|---|"]
    for spec in fields(Settings):
        parts = by_field[spec.name]
        default = parts.pop() if spec.default is MISSING else f"`{spec.default}`"
        rows.append(f"| `{variable(spec.name)}` | {'; '.join(parts[:-1])} | {parts[-1]} | {default} |")
    return "\n".join(rows)


def _read(name: str, kind: Any, text: str, least: float) -> Any:
    """The value of a variable. Raises ValueError, which says what is expected."""
    if kind is Path:
        return Path(text).expanduser().absolute()
    if kind is str:
        if name == "database_url" and not text.startswith(_DATABASES):
            raise ValueError("an address that starts with sqlite:// or postgresql://")
        return text
    expected = f"a {'whole ' if kind is int else ''}number of at least {least:g}"
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(expected) from None
    if not math.isfinite(value) or value < least:
        raise ValueError(expected)
    return value


def _problem(name: str, message: str, remedy: str) -> Problem:
    return Problem(path=variable(name), message=message, remedy=remedy)


def _user_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)


def _client_id(environ: Mapping[str, str]) -> str:
    """The default of the old client, so that histories keep their owner."""
    try:
        user = environ.get("USER") or pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        user = str(os.getuid())
    return hashlib.sha1(f"{user}+{os.uname().nodename}".encode(), usedforsecurity=False).hexdigest()


if __name__ == "__main__":
    print(reference())
