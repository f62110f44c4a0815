"""The service that the commands of this user use, kept in a file of the home folder."""

import json
import os
from urllib.parse import urlsplit

from anubis.model.errors import BadInputError, disk_error
from anubis.record import access
from anubis.settings import NO_SERVICE, Settings

FILE = "service.json"


def url_of(settings: Settings) -> str | None:
    """The address of the service to use: that of the settings, else the registered one; None: the home folder.

    Raises BadInputError if the file of the registration is damaged.
    """
    if settings.service_url:
        return None if settings.service_url == NO_SERVICE else settings.service_url
    return registered(settings)


def registered(settings: Settings) -> str | None:
    """The registered address; None if there is none."""
    path = settings.home / FILE
    try:
        return checked(str(json.loads(path.read_bytes())["url"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise disk_error(f"the registration {path} cannot be read", error) from error
    except (ValueError, LookupError, TypeError, BadInputError) as error:
        raise BadInputError(
            f"the registration {path} is damaged", remedy="register the service again: anubis register URL"
        ) from error


def register(settings: Settings, url: str) -> None:
    """Use this service from now on. Raises StoreError if it cannot be noted."""
    path = settings.home / FILE
    part = path.with_name(f".{FILE}.{os.urandom(8).hex()}")
    try:
        access.make_folder(str(settings.home))
        part.write_text(json.dumps({"url": url}) + "\n")
        part.replace(path)
    except OSError as error:
        raise disk_error(f"the registration {path} cannot be written", error) from error
    finally:
        part.unlink(missing_ok=True)


def unregister(settings: Settings) -> None:
    """Use the home folder again."""
    try:
        (settings.home / FILE).unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(f"the registration {settings.home / FILE} cannot be removed", error) from error


def checked(url: str) -> str:
    """The address without a slash at its end. Raises BadInputError if it is not that of a service."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_valid = False
    if not is_valid or parts.path.rstrip("/") or parts.query or parts.username is not None:
        raise BadInputError(
            f"{url!r} is not the address of a service",
            remedy="use http://HOST:PORT, as anubis serve prints it",
        )
    return url.rstrip("/")
