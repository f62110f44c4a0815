"""The name of the person who submits runs and decides about alerts."""

import os
import pwd
import subprocess
from functools import lru_cache
from pathlib import Path

from anubis.settings import Settings


def person(settings: Settings) -> str:
    """The name in the settings; else git's ``user.name``, the full name of the login, or the login name."""
    return settings.client_id or _git_name(Path.cwd(), _git_settings()) or _login_name()


def _git_settings() -> tuple[tuple[str, str], ...]:
    """The variables that decide which files git reads."""
    return tuple(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith("GIT_") or name in {"HOME", "XDG_CONFIG_HOME", "PATH"}
    )


@lru_cache(maxsize=16)  # a service would start git for each request
def _git_name(_folder: Path, _settings: tuple[tuple[str, str], ...]) -> str:
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
