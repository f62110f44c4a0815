"""The service that the commands of this user use, kept in a file of the home folder."""

import json
import os
from urllib.parse import urlsplit

from anubis.model.errors import BadInputError, disk_error
from anubis.record import access
from anubis.settings import NO_SERVICE, Settings

FILE, TOKEN_FILE = "service.json", "service-token.json"


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


def token_of(settings: Settings, url: str) -> str:
    """The token for the service at an address: that of the settings, else the registered one; empty: none.

    Raises BadInputError if the file of the token is damaged.
    """
    if settings.service_token:
        return settings.service_token
    path = settings.home / TOKEN_FILE
    try:
        stored = json.loads(path.read_bytes())
        return str(stored["token"]) if stored["url"] == url else ""
    except (
        FileNotFoundError,
        NotADirectoryError,
        PermissionError,
    ):  # of another member of the group of the home
        return ""
    except OSError as error:
        raise disk_error(f"the token in {path} cannot be read", error) from error
    except (ValueError, LookupError, TypeError) as error:
        raise BadInputError(
            f"{path} is damaged", remedy="register the service again: anubis register URL"
        ) from error


def register(settings: Settings, url: str, token: str = "") -> None:
    """Use this service from now on, with a token that only this user can read. Raises StoreError."""
    _write(settings, TOKEN_FILE, {"url": url, "token": token})
    _write(settings, FILE, {"url": url})


def _write(settings: Settings, name: str, content: dict[str, str]) -> None:
    path = settings.home / name
    part = path.with_name(f".{name}.{os.urandom(8).hex()}")
    try:
        access.make_folder(str(settings.home))
        part.touch(0o600 if name == TOKEN_FILE else 0o666, exist_ok=False)
        part.write_text(json.dumps(content) + "\n")
        part.replace(path)
    except OSError as error:
        raise disk_error(f"the registration {path} cannot be written", error) from error
    finally:
        part.unlink(missing_ok=True)


def unregister(settings: Settings) -> None:
    """Use the home folder again."""
    try:
        (settings.home / TOKEN_FILE).unlink(missing_ok=True)
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
