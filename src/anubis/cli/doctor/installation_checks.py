"""Checks of the installation: Python, home folder, disk, database and plug-ins."""

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anubis.cli.home import open_client
from anubis.cli.views import units
from anubis.contracts.engine import Engine
from anubis.late import late
from anubis.model.errors import AnubisError, BadInputError
from anubis.plug_ins import PlugIns
from anubis.settings import Settings
from anubis.wiring import bucket_of, engines, make_home, notifiers, sources, surroundings_of

if TYPE_CHECKING:
    from anubis.client.joining import spool
    from anubis.client.remote import connection
    from anubis.store.bucket import probe
else:  # only for a machine that joined a service
    spool = late("anubis.client.joining.spool")
    connection = late("anubis.client.remote.connection")
    probe = late("anubis.store.bucket.probe")

OLDEST_PYTHON = (3, 11)


class State(StrEnum):
    """FAIL: runs do not work. WARN: runs work, but their measurements may vary more than necessary."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    name: str
    state: State
    #: The observed state, as short text.
    found: str
    #: What to do; empty if nothing needs to be done.
    remedy: str = ""


def installation(settings: Settings) -> Iterator[Check]:
    """Python, home folder, disk, database, engines, sources of datasets, notifiers."""
    version = platform.python_version()
    if sys.version_info >= OLDEST_PYTHON:
        yield Check("python", State.OK, version)
    else:
        yield Check("python", State.FAIL, version, "install Python 3.11 or newer")
    home = _home(settings)
    yield home
    if home.state is State.FAIL:
        return
    yield _disk(settings)
    try:
        with open_client():
            yield Check("database", State.OK, _database(settings))
    except AnubisError as error:
        yield Check("database", State.FAIL, error.message, error.remedy)
        return
    yield from _bucket(settings)
    surroundings = surroundings_of(settings)
    installed = engines(surroundings)
    yield from _plug_ins("engines", installed)
    yield from _programs(installed)
    yield from _plug_ins("sources", sources(surroundings))
    yield from _plug_ins("notifiers", notifiers(surroundings))
    yield from _joined(settings)


def _plug_ins(group: str, plug_ins: PlugIns[Any]) -> Iterator[Check]:
    """Those that can be used, on one line, and each broken one with its error."""
    broken = plug_ins.broken()
    if usable := sorted(set(plug_ins) - set(broken)):
        yield Check(group, State.OK, ", ".join(usable))
    else:
        yield Check(group, State.FAIL, "none", "install Anubis again: its entry points are missing")
    for name, error in broken.items():
        yield Check(f"{group.removesuffix('s')} {name}", State.WARN, error.message, error.remedy)


def _bucket(settings: Settings) -> Iterator[Check]:
    """The bucket, if there is one: a new key is written, read, listed and deleted. Runs work without it."""
    if (bucket := bucket_of(settings)) is None:
        return
    try:
        found = probe.check(bucket)
    except AnubisError as error:
        yield Check("bucket", State.WARN, error.message, error.remedy)
    else:
        yield Check("bucket", State.OK, found)


def _programs(installed: PlugIns[Engine]) -> Iterator[Check]:
    """The programs that engines use. An engine without its program is not needed for the others."""
    for name in sorted(set(installed) - set(installed.broken())):
        can = installed[name].capabilities
        if can.uses or can.missing:
            found = can.uses or "not usable here: its program is missing"
            yield Check(f"engine {name}", State.OK, found, can.missing)


def _joined(settings: Settings) -> Iterator[Check]:
    """The service that a worker of this home folder has joined last."""
    joined = spool.Spool(settings.home).joined()
    if joined is None:
        return
    url, name = joined
    service = connection.ServiceConnection(url, settings)
    try:
        found = service.probe("/healthz")
    except AnubisError as error:
        remedy = "check the network; the worker asks again until the service answers"
        yield Check("joined service", State.WARN, error.message, remedy)
    else:
        answer = f"{url} answers (Anubis {found.get('version', '?')}); joined as {name}"
        yield Check("joined service", State.OK, answer)
    finally:
        service.close()


def _home(settings: Settings) -> Check:
    home = settings.home
    try:
        make_home(settings)
    except BadInputError as error:
        return Check("home", State.FAIL, error.message, error.remedy)
    except OSError as error:
        remedy = "set ANUBIS_HOME to a folder that can be created"
        return Check("home", State.FAIL, f"{home}: {error.strerror}", remedy)
    if not os.access(home, os.W_OK | os.X_OK):
        return Check(
            "home", State.FAIL, f"{home} is not writable", "set ANUBIS_HOME to a folder that you own"
        )
    mode = home.stat().st_mode & (0o007 if settings.home_group else 0o077)
    if mode:
        who = "all users" if mode & 0o007 else "its group"
        remedy = f"chmod -R go= {shlex.quote(str(home))}, or share it with ANUBIS_HOME_GROUP"
        return Check("home", State.WARN, f"{home} is accessible for {who}", remedy)
    return Check("home", State.OK, str(home))


def _disk(settings: Settings) -> Check:
    free = shutil.disk_usage(settings.home).free
    observed = f"{units.size(free)} free"
    if free < settings.min_free_bytes:
        needed = units.size(settings.min_free_bytes)
        return Check(
            "disk",
            State.FAIL,
            f"{observed}, at least {needed} required",
            "free space: anubis gc, anubis purge",
        )
    if free < 10 * settings.min_free_bytes:
        return Check("disk", State.WARN, observed, "free space: anubis gc, anubis purge")
    return Check("disk", State.OK, observed)


def _database(settings: Settings) -> str:
    """Its address without a password, and its size."""
    scheme, _, rest = settings.database_url.partition("://")
    if scheme == "sqlite":
        path = Path(rest[1:])
        return f"{path} ({units.size(path.stat().st_size)})" if path.exists() else str(path)
    return f"{scheme}://{rest.rpartition('@')[2]}"
