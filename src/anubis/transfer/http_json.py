"""JSON over HTTP, for servers from which histories are imported: with retries, a proxy, and one clear error."""

import json
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import urllib3

from anubis.model.errors import BadInputError

CONNECT_S, READ_S = 10.0, 60.0
#: Maximum size of one answer.
MAX_BYTES = 256 << 20
_OK, _REFUSED, _LATER = 200, {401, 403}, {429, 500, 502, 503, 504}
#: The reads that this module sends may be repeated. The first repetition is at once, then after 1, 2, 4 s.
_RETRY = urllib3.Retry(
    total=4,
    backoff_factor=0.5,
    status_forcelist=_LATER,
    allowed_methods=None,
    raise_on_status=False,
)


class JsonServer:
    """One server. ``headers`` are sent with every request, but not to another host after a redirection."""

    def __init__(self, address: str, *, what: str, headers: Mapping[str, str], credentials: str) -> None:
        """``what``: the kind of server, and ``credentials``: how they are given, both for messages."""
        self._address = address.rstrip("/")
        self._what = what
        self._credentials = credentials
        self._headers = {"Content-Type": "application/json", "User-Agent": "anubis-bench", **headers}
        self._pool = _pool(address)

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the server answers. Raises BadInputError."""
        try:
            response = self._pool.request(
                "POST",
                f"{self._address}/{path}",
                body=json.dumps(body).encode(),
                headers=self._headers,
                retries=_RETRY,
                timeout=urllib3.Timeout(connect=CONNECT_S, read=READ_S),
                preload_content=False,
            )
            content = response.read(MAX_BYTES + 1)
            response.close()
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise BadInputError(
                f"{self._address} could not be reached: {_reason(error)}",
                remedy=f"check the address and that the {self._what} is running",
            ) from error
        if response.status in _REFUSED:
            raise BadInputError(
                f"{self._address} answered {response.status}: access is denied", remedy=self._credentials
            )
        if response.status in _LATER:
            raise BadInputError(f"{self._address} answered {response.status}", remedy="try again later")
        answer = _object(content) if response.status == _OK else None
        if answer is None:
            raise BadInputError(
                f"{self._address} does not answer like the {self._what}: status {response.status} for {path}",
                remedy=f"give the address of the {self._what}, without the path of a page",
            )
        return answer


def _object(content: bytes) -> dict[str, Any] | None:
    """The JSON object; None if it is something else or too large."""
    try:
        found = json.loads(content) if len(content) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _reason(error: BaseException) -> str:
    """The innermost reason as text. Errors about headers contain their values, which may be secret."""
    if isinstance(error, ValueError):
        return "the address or the credentials contain a character that is not allowed"
    inner = getattr(error, "reason", None)
    if isinstance(inner, BaseException):
        return _reason(inner)
    cause = error.__cause__ or error.__context__
    text = getattr(cause, "strerror", None) or getattr(error, "strerror", None)
    return str(text or error)


def _pool(address: str) -> urllib3.PoolManager:
    """Connections to the server, through the proxy that the environment names for it."""
    parts = urlsplit(address)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy or urllib.request.proxy_bypass(parts.hostname or ""):
        return urllib3.PoolManager()
    user = urllib3.util.parse_url(proxy).auth
    return urllib3.ProxyManager(proxy, proxy_headers=urllib3.make_headers(proxy_basic_auth=user))
