"""Addresses of data in messages."""

from urllib.parse import urlsplit


def shown_address(url: str) -> str:
    """The address without user, password, query and fragment, which may be secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
