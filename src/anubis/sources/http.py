"""Source ``http`` and ``https``: one file at an address."""

from dataclasses import dataclass

from anubis.contracts.source import ByteStream, RemoteFile
from anubis.contracts.world import Surroundings
from anubis.model.address import shown_address
from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.settings import load, setting
from anubis.sources.web import Body, Web, refused, total_bytes

_OK, _PART, _NOT_MODIFIED, _OUT_OF_RANGE, _PRECONDITION = 200, 206, 304, 416, 412


def _allow(text: str) -> bool:
    if text not in ("allow", "refuse"):
        raise ValueError("allow or refuse")
    return text == "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """Settings of this source."""

    #: `allow`: data may be fetched from link-local addresses, among them the metadata services of clouds; redirects never lead there; `refuse`
    link_local: bool = setting("ANUBIS_DATA_LINK_LOCAL", default=False, read=_allow)
    #: Longest time without data from a server; seconds
    patience_s: float = setting("ANUBIS_DATA_PATIENCE_S", default=30.0, least=0.1)


def build(surroundings: Surroundings) -> "HttpSource":
    """Build the source; its entry points name this function."""
    settings = load(HttpSettings, surroundings.environ)
    return HttpSource(Web(link_local=settings.link_local, patience_s=settings.patience_s))


class HttpSource:
    """Reads files from web servers."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def find(self, url: str, version: str = "") -> tuple[RemoteFile, ...] | None:
        """See the contract. A request for the first byte also shows the size, the version and whether ranges work."""
        response = self._web.get(url, {"Range": "bytes=0-0", **_condition(version)})
        status, size = response.status, total_bytes(response)
        if status == _OK:
            length = response.headers.get("content-length", "")
            size = int(length) if length.isdecimal() else None
        elif status == _OUT_OF_RANGE and size == 0:
            response.drain_conn()
        elif status == _NOT_MODIFIED and version:
            response.drain_conn()
            return None
        elif status != _PART:
            raise refused(url, response)
        found = _version(response.headers)
        Body(response, url).close() if status == _OK else response.drain_conn()
        ranges = status == _PART and size is not None
        return (RemoteFile(url=url, size_bytes=size, version=found, ranges=ranges),)

    def open(self, file: RemoteFile, start: int, stop: int | None) -> ByteStream:
        whole = start == 0 and stop is None
        headers = {} if whole else {"Range": f"bytes={start}-{'' if stop is None else stop - 1}"}
        if not whole and (strong := _strong(file.version)):
            headers["If-Range"] = strong
        response = self._web.get(file.url, headers)
        changed = file.version and _version(response.headers) != file.version
        if response.status in (_OUT_OF_RANGE, _PRECONDITION) or (response.status in (_OK, _PART) and changed):
            response.close()
            raise SourceError(
                f"{shown_address(file.url)} was replaced while it was fetched", cause=Cause.DATA_CHANGED
            )
        if response.status == _OK and not whole:
            response.close()
            raise SourceError(
                f"{shown_address(file.url)} no longer answers requests for a part of the file",
                cause=Cause.DATA_UNAVAILABLE,
                temporary=True,
            )
        if response.status not in (_OK, _PART):
            raise refused(file.url, response)
        return Body(response, file.url)


def _version(headers: object) -> str:
    """The ETag (quoted) or else the time of the last change."""
    assert hasattr(headers, "get")
    return headers.get("etag") or headers.get("last-modified") or ""


def _condition(version: str) -> dict[str, str]:
    """The header with which a server sends nothing if the file still has this version."""
    if not version:
        return {}
    return {"If-None-Match" if version.endswith('"') else "If-Modified-Since": version}


def _strong(version: str) -> str:
    """The version for ``If-Range``, which permits no weak ETag (RFC 9110, section 13.1.5)."""
    return "" if version.startswith("W/") else version
