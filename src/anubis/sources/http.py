"""Source ``http`` and ``https``: one file at an address."""

from anubis.contracts.source import ByteStream, RemoteFile
from anubis.contracts.world import Surroundings
from anubis.sources.network import settings_of
from anubis.sources.web import Body, Web, refused, total_bytes, version_of

_OK, _PART, _NOT_MODIFIED, _OUT_OF_RANGE = 200, 206, 304, 416


def build(surroundings: Surroundings) -> "HttpSource":
    """Build the source; its entry points name this function."""
    return HttpSource(Web(settings_of(surroundings.settings, surroundings.environ)))


class HttpSource:
    """Reads files from web servers."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def refusal(self, url: str) -> str:
        """See the contract."""
        return self._web.refusal(url)

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
        found = version_of(response)
        Body(response, url).close() if status == _OK else response.drain_conn()
        ranges = status == _PART and size is not None
        return (RemoteFile(url=url, size_bytes=size, version=found, ranges=ranges),)

    def open(self, file: RemoteFile, start: int, stop: int | None) -> ByteStream:
        return self._web.open(file.url, file.version, start, stop)


def _condition(version: str) -> dict[str, str]:
    """The header with which a server sends nothing if the file still has this version."""
    if not version:
        return {}
    return {"If-None-Match" if version.endswith('"') else "If-Modified-Since": version}
