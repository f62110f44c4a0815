"""The name of the person who submits runs and decides about alerts."""

import os
import pwd
import subprocess

from anubis.model.errors import BadInputError, disk_error
from anubis.record import access
from anubis.settings import Settings

#: File of the home folder with the name that a user has set. The old client had the same.
FILE = "client_id"
_LONGEST = 200


def person(settings: Settings) -> str:
    """The name in the settings; else the kept one, git's ``user.name``, the full name of the login, or the login name."""
    return settings.client_id or _kept_name(settings) or _git_name() or _login_name()


def keep_name(settings: Settings, name: str | None) -> None:
    """Keep a name in the home folder; None: none any more. Raises BadInputError for text that cannot be a name."""
    path = settings.home / FILE
    if name is not None and (not name.strip() or not name.isprintable() or len(name) > _LONGEST):
        raise BadInputError(
            f"{name[:_LONGEST]!r} cannot be a name", remedy=f"use 1 to {_LONGEST} printable characters"
        )
    part = path.with_name(f".{FILE}.{os.urandom(8).hex()}")
    try:
        if name is None:
            path.unlink(missing_ok=True)
            return
        access.make_folder(str(settings.home))
        part.write_text(f"{name.strip()}\n")
        part.replace(path)
    except OSError as error:
        raise disk_error(f"the name {path} cannot be kept", error) from error
    finally:
        part.unlink(missing_ok=True)


def _kept_name(settings: Settings) -> str:
    try:
        text = (settings.home / FILE).read_text(errors="replace")
    except OSError:
        return ""
    return "".join(char for char in text.strip()[:_LONGEST] if char.isprintable())


def _git_name() -> str:
    """The ``user.name`` that git uses in the current folder; empty if there is none."""
    try:
        answer = subprocess.run(
            ["git", "config", "user.name"], capture_output=True, text=True, errors="replace", check=False
        )
    except OSError:
        return ""
    return "".join(char for char in " ".join(answer.stdout.split()) if char.isprintable())


def _login_name() -> str:
    """The full name in the password database (GECOS), else the login name, else the number of the user."""
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        return os.environ.get("USER") or str(os.getuid())
    # "&" is replaced by the capitalised login name, see passwd(5) of BSD.
    return entry.pw_gecos.partition(",")[0].replace("&", entry.pw_name.capitalize()).strip() or entry.pw_name
