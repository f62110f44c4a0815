"""What ``anubis doctor`` looks at: the installation first, then what on this machine makes figures differ.

Every check guards by capability: where a file of the kernel is not there, nothing is said about it.
"""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from anubis.cli.home import open_client
from anubis.cli.views import units
from anubis.model.errors import AnubisError
from anubis.settings import Settings

OLDEST_PYTHON = (3, 11)


class State(StrEnum):
    """FAIL: runs will not work. WARN: they will, and their figures may differ for no good reason."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor's report."""

    name: str
    state: State
    #: What was found, in a few words.
    found: str
    #: What to do about it; empty where nothing needs to be done.
    remedy: str = ""


def installation(settings: Settings) -> Iterator[Check]:
    """Python, home folder, disk, database, engines."""
    version = platform.python_version()
    if sys.version_info >= OLDEST_PYTHON:
        yield Check("python", State.OK, version)
    else:
        yield Check("python", State.FAIL, version, "install Python 3.11 or newer")
    home = _home(settings.home)
    yield home
    if home.state is State.FAIL:
        return
    yield _disk(settings)
    try:
        with open_client() as client:
            names = client.runs.engines()
            yield Check("database", State.OK, _database(settings))
    except AnubisError as error:
        yield Check("database", State.FAIL, error.message, error.remedy)
        return
    if names:
        yield Check("engines", State.OK, ", ".join(names))
    else:
        yield Check("engines", State.FAIL, "none", "install Anubis again: its entry points are missing")


def _home(home: Path) -> Check:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = "set ANUBIS_HOME to a folder that can be made"
        return Check("home", State.FAIL, f"{home}: {error.strerror}", remedy)
    if not os.access(home, os.W_OK | os.X_OK):
        return Check("home", State.FAIL, f"{home} is not writable", "set ANUBIS_HOME to a folder of yours")
    return Check("home", State.OK, str(home))


def _disk(settings: Settings) -> Check:
    free = shutil.disk_usage(settings.home).free
    found = f"{units.size(free)} free"
    if free < settings.min_free_bytes:
        needed = units.size(settings.min_free_bytes)
        return Check(
            "disk", State.FAIL, f"{found}, {needed} are needed", "free space: anubis gc, anubis purge"
        )
    if free < 10 * settings.min_free_bytes:
        return Check("disk", State.WARN, found, "free space: anubis gc, anubis purge")
    return Check("disk", State.OK, found)


def _database(settings: Settings) -> str:
    """Where it is, without a password, and how large."""
    scheme, _, rest = settings.database_url.partition("://")
    if scheme == "sqlite":
        path = Path(rest[1:])
        return f"{path} ({units.size(path.stat().st_size)})" if path.exists() else str(path)
    return f"{scheme}://{rest.rpartition('@')[2]}"
