"""Settings from the environment: those of the core, and the loader that adapters use for theirs.

``python -m anubis.settings`` prints the reference table.
"""

import inspect
import math
import os
import pwd
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Self, TypeVar

from anubis.model.errors import BadInputError
from anubis.model.points import SESSION_PAUSE_S
from anubis.model.problem import Problem
from anubis.record import layout

T = TypeVar("T")
#: Value of ANUBIS_SERVICE_URL with which commands use the home folder.
NO_SERVICE = "none"
_DATABASES = ("sqlite://", "postgresql://", "postgresql+psycopg://")


def setting(
    *variables: str,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    least: float = 0,
    read: Callable[[str], Any] | None = None,
    secret: bool = False,
) -> Any:
    """A field that ``load`` reads from the first of these variables that is set.

    ``least`` is the lower limit of a number. ``read`` converts the text for types other than text, numbers and paths;
    it raises ValueError with a noun phrase that describes a valid text. A secret is not in the ``repr``.

    The reference page is generated from the comment above the field: meaning; unit; and the default if it differs from
    that of the field.
    """
    metadata = {"variables": variables, "least": least, "read": read}
    return field(default=default, default_factory=default_factory, repr=not secret, metadata=metadata)


def load(kind: type[T], environ: Mapping[str, str], **given: Any) -> T:
    """An instance of a settings dataclass; fields in ``given`` are not read. An empty variable counts as unset.

    Raises BadInputError with one problem for each variable that is not valid.
    """
    values, problems = _values(kind, environ)
    refuse(problems)
    return kind(**{**values, **given})


def refuse(problems: Sequence[Problem]) -> None:
    """Raise BadInputError if there are any problems with variables."""
    if problems:
        named = ", ".join(problem.path for problem in problems)
        raise BadInputError(
            f"The environment contains settings that are not valid: {named}",
            remedy="correct or unset them; docs/reference/settings.md lists every setting",
            problems=problems,
        )


def variables(kind: type) -> list[str]:
    """The environment variables of a settings dataclass."""
    return [name for spec in fields(kind) for name in spec.metadata.get("variables", ())]


def _values(kind: Any, environ: Mapping[str, str]) -> tuple[dict[str, Any], list[Problem]]:
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for spec in fields(kind):
        name, text = _text(spec.metadata.get("variables", ()), environ)
        if not text:
            continue
        try:
            values[spec.name] = _read(spec.type, text, spec.metadata)
        except ValueError as error:
            shown = (
                f"{text.partition('://')[0]!r}" if spec.repr else "its value"
            )  # an address may contain a password
            problems.append(_problem(name, f"{shown} is not {error}", f"set it to {error}"))
    return values, problems


def _text(names: Sequence[str], environ: Mapping[str, str]) -> tuple[str, str]:
    """The first variable that is set, and its text; both empty if none is set."""
    for name in names:
        if text := environ.get(name, "").strip():
            return name, text
    return "", ""


def _read(kind: Any, text: str, metadata: Mapping[str, Any]) -> Any:
    """The value of a variable; ValueError describes a valid value."""
    if metadata["read"]:
        return metadata["read"](text)
    if kind is Path:
        return Path(text).expanduser().absolute()
    if kind is str:
        return text
    expected = f"a {'whole ' if kind is int else ''}number of at least {metadata['least']:g}"
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(expected) from None
    if not math.isfinite(value) or value < metadata["least"]:
        raise ValueError(expected)
    return value


def _problem(name: str, message: str, remedy: str) -> Problem:
    return Problem(path=name, message=message, remedy=remedy)


def _database(text: str) -> str:
    if not text.startswith(_DATABASES):
        raise ValueError("an address that starts with sqlite:// or postgresql://")
    return text


def _switch(text: str) -> str:
    if text not in {"on", "off"}:
        raise ValueError("on or off")
    return text


def _service(text: str) -> str:
    if text != NO_SERVICE and not text.startswith(("http://", "https://")):
        raise ValueError(f"an address that starts with http:// or https://, or {NO_SERVICE}")
    return text.rstrip("/")


def _bucket(text: str) -> str:
    if not re.fullmatch(r"s3://[a-z0-9][a-z0-9._-]{1,62}(?:/[\w.=+-]+)*/?", text, re.ASCII):
        raise ValueError("an address such as s3://BUCKET or s3://BUCKET/PREFIX")
    return text.rstrip("/")


def archive_place(text: str) -> Path | str:
    """A folder, or the address of a place in a bucket. Raises ValueError."""
    return _bucket(text) if text.startswith("s3://") else _path(text)


def _endpoint(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise ValueError("an address that starts with http:// or https://")
    return text.rstrip("/")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise ValueError("a number of seconds")
    return seconds


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(re.fullmatch(r"[^=\s]+", name) for name in names):
        raise ValueError("a list of names of variables, separated by commas")
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one installation, without those of its adapters."""

    #: Folder of all data of Anubis: database, records, fetched data; path; `~/.anubis`
    home: Path = setting("ANUBIS_HOME")
    #: Group that shares the home folder and all files in it; name; none: only its user has access
    home_group: str = setting("ANUBIS_HOME_GROUP", default="")
    #: Database: `sqlite:///PATH` or `postgresql://USER@HOST/NAME`; URL; SQLite, `anubis.db` in the home folder
    database_url: str = setting("ANUBIS_DATABASE_URL", read=_database, secret=True)
    #: Variables that benchmarks may inherit from their submitter, patterns with `*`; comma-separated names; all
    inherit: tuple[str, ...] = setting("ANUBIS_INHERIT", default=("*",), read=_names)
    #: File of the secrets that descriptors refer to; path; `secrets.toml` in the home folder
    secrets: Path = setting("ANUBIS_SECRETS")
    #: File of the key that encrypts [secrets of projects](../howto/users-and-projects.md#secrets-of-a-project), the same for all services of a database; path; `secrets.key` in the home folder
    secrets_key: Path = setting("ANUBIS_SECRETS_KEY")
    #: File of the prices of machines per hour; path; `prices.toml` in the home folder
    prices: Path = setting("ANUBIS_PRICES")
    #: File of the rules that say how long runs are kept; path; `retention.toml` in the home folder
    retention: Path = setting("ANUBIS_RETENTION")
    #: File that says who receives which report, and when; path; `reports.toml` in the home folder
    reports: Path = setting("ANUBIS_REPORTS")
    #: Folder, or `s3://BUCKET/PREFIX`, to which a service writes data sets of each day; path or address; none: they are not written
    archive: Path | str | None = setting("ANUBIS_ARCHIVE", default=None, read=archive_place)
    #: Bucket for [copies of records and objects](../howto/use-a-bucket.md): `s3://BUCKET/PREFIX`; address; none
    bucket: str = setting("ANUBIS_BUCKET", default="", read=_bucket)
    #: Service of that bucket, if it is not Amazon S3; URL; as the tools of AWS find it
    bucket_endpoint: str = setting("ANUBIS_BUCKET_ENDPOINT", default="", read=_endpoint)
    #: Time after which the copy of a record in the home folder is removed if the bucket has all of it; seconds; never
    bucket_keep_s: float | None = setting("ANUBIS_BUCKET_KEEP_S", default=None, read=_seconds)
    #: Folder of fetched datasets, which several homes can share; path; `data` in the home folder
    data: Path = setting("ANUBIS_DATA")
    #: Name of the person who submits runs and decides about alerts; text; git's `user.name`, else the name of the login
    client_id: str = setting("ANUBIS_CLIENT_ID", default="")
    #: Service that commands use instead of the registered one; URL, or `none` for the home folder; the registered service, if any
    service_url: str = setting("ANUBIS_SERVICE_URL", default="", read=_service)
    #: Token for the service, instead of the registered one; token; the registered token, if any
    service_token: str = setting("ANUBIS_SERVICE_TOKEN", default="", secret=True)
    #: Project of new runs, sweeps and schedules; name; `default`, and in a service the project of the token
    project: str = setting("ANUBIS_PROJECT", default="")
    #: Whether engine `process` runs benchmarks in a [sandbox](../concepts/sandbox.md); `on` or `off`; `off`; for `anubis serve`, `on` where bubblewrap works
    sandbox: str = setting("ANUBIS_SANDBOX", default="", read=_switch)
    #: Engine of descriptors without an engine; name
    engine: str = setting("ANUBIS_ENGINE", default="process")
    #: Time after which the runs of an unresponsive process may be claimed by another one; seconds
    lease_s: float = setting("ANUBIS_LEASE_S", default=30.0, least=1)
    #: Longest pause between two measurements of one session: what is measured on one machine without a longer pause shares its state; seconds
    session_pause_s: float = setting("ANUBIS_SESSION_PAUSE_S", default=SESSION_PAUSE_S)
    #: Most bytes of the record of one attempt that a joined worker may ship; bytes
    record_bytes: int = setting("ANUBIS_RECORD_BYTES", default=64 << 30)
    #: Most connections of clients that a service has at the same time
    connections: int = setting("ANUBIS_CONNECTIONS", default=10_000)
    #: Free space under the home folder below which no run is placed; bytes
    min_free_bytes: int = setting("ANUBIS_MIN_FREE_BYTES", default=256 << 20)

    @property
    def records(self) -> Path:
        """Folder of all records."""
        return self.home / layout.RECORDS

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        """The settings in ``environ``.

        Raises BadInputError with one problem for each variable that is not valid.
        """
        values, problems = _values(cls, environ)
        if "home" not in values:
            try:
                values["home"] = _user_home(environ) / ".anubis"
            except KeyError:
                problems.append(_problem("ANUBIS_HOME", "this user has no home folder", "set it to a folder"))
        refuse(problems)
        values.setdefault("database_url", f"sqlite:///{values['home'] / 'anubis.db'}")
        values.setdefault("secrets", values["home"] / "secrets.toml")
        values.setdefault("secrets_key", values["home"] / "secrets.key")
        values.setdefault("data", values["home"] / "data")
        values.setdefault("retention", values["home"] / "retention.toml")
        values.setdefault("reports", values["home"] / "reports.toml")
        values.setdefault("prices", values["home"] / "prices.toml")
        return cls(**values)


def table(kind: Any) -> str:
    """The settings of a dataclass as a Markdown table: variable, meaning, unit, default."""
    about = dict(re.findall(r"#: (.*)\n    (\w+):", inspect.getsource(kind)))
    by_field = {name: line.split("; ") for line, name in about.items()}
    rows = ["| Variable | Meaning | Unit | Default |", "|---|---|---|---|"]
    for spec in fields(kind):
        for name in spec.metadata.get("variables", ())[:1]:
            parts = by_field[spec.name]
            default = (
                parts.pop() if spec.default in (MISSING, "") or spec.metadata["read"] else f"`{spec.default}`"
            )
            rows.append(f"| `{name}` | {'; '.join(parts[:-1])} | {parts[-1]} | {default} |")
    return "\n".join(rows)


def reference() -> str:
    """Every setting of the core as a Markdown table."""
    return table(Settings)


def _user_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir)


if __name__ == "__main__":
    print(reference())
