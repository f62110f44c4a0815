"""HTTP requests for parts of files: redirects, conditional requests, and one cause for each failure."""

import base64
import re
import socket
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import getproxies_environment, proxy_bypass

import urllib3
from urllib3 import connection, connectionpool, exceptions

from anubis.contracts.source import ByteStream, shown_address
from anubis.model.cause import Cause
from anubis.model.errors import SourceError
from anubis.sources.network import Guard, NetworkSettings, is_local

MOST_REDIRECTS = 10
#: Parallel connections to one server that are kept.
_KEPT_CONNECTIONS = 64
_OK, _PART, _OUT_OF_RANGE = 200, 206, 416
_REDIRECTS = (301, 302, 303, 307, 308)
_TEMPORARY = (408, 425, 429)
_CAUSES = {
    401: Cause.DATA_FORBIDDEN,
    403: Cause.DATA_FORBIDDEN,
    404: Cause.DATA_NOT_FOUND,
    407: Cause.DATA_FORBIDDEN,
    410: Cause.DATA_NOT_FOUND,
}
_HEADERS = {"User-Agent": "anubis-bench", "Accept-Encoding": "identity"}


class _GuardedConnection(connection.HTTPConnection):
    """Connects only to addresses that were checked, whatever a name resolves to later."""

    guard: Guard

    def _new_conn(self) -> Any:
        name = self._dns_host
        try:
            addresses = self.guard.addresses(name, self.port or self.default_port)
        except (socket.gaierror, UnicodeError) as error:
            raise exceptions.NameResolutionError(self.host, self, error) from error  # type: ignore[arg-type]
        try:
            for address in addresses[:-1]:
                self._dns_host = address
                try:
                    return super()._new_conn()
                except (exceptions.NewConnectionError, exceptions.ConnectTimeoutError):
                    continue
            self._dns_host = addresses[-1]
            return super()._new_conn()
        finally:
            self._dns_host = name


class _GuardedTlsConnection(_GuardedConnection, connection.HTTPSConnection):
    pass


def _guarded(guard: Guard) -> urllib3.PoolManager:
    """Connections that this guard checks."""
    plain = type("_Plain", (_GuardedConnection,), {"guard": guard})
    tls = type("_Tls", (_GuardedTlsConnection,), {"guard": guard})
    pools = urllib3.PoolManager(maxsize=_KEPT_CONNECTIONS)
    pools.pool_classes_by_scheme = {
        "http": type("_PlainPool", (connectionpool.HTTPConnectionPool,), {"ConnectionCls": plain}),
        "https": type("_TlsPool", (connectionpool.HTTPSConnectionPool,), {"ConnectionCls": tls}),
    }
    return pools


class Web:
    """Sends GET requests. Thread-safe."""

    def __init__(self, settings: NetworkSettings) -> None:
        self._settings = settings
        self._timeout = urllib3.Timeout(connect=min(settings.patience_s, 10.0), read=settings.patience_s)

    def refusal(self, url: str) -> str:
        """Why an address must not be reached, as far as it says so itself; empty: nothing is known against it."""
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return ""
        return self._guard(link_local=self._settings.link_local).refusal(host) if host else ""

    def _guard(self, *, link_local: bool) -> Guard:
        return Guard(self._settings, link_local)

    @cached_property
    def _open(self) -> urllib3.PoolManager:
        return _guarded(self._guard(link_local=True))

    @cached_property
    def _closed(self) -> urllib3.PoolManager:
        return _guarded(self._guard(link_local=False))

    def get(self, url: str, headers: dict[str, str]) -> urllib3.BaseHTTPResponse:
        """The response to a GET request, redirects followed, its body not read. Raises SourceError."""
        seen = {url}
        sent = {**_HEADERS, **headers}
        allowed = self._settings.link_local
        for _ in range(MOST_REDIRECTS + 1):
            response = self._send(url, sent, link_local=allowed)
            if response.status not in _REDIRECTS:
                return response
            target = response.headers.get("location")
            if target is None:
                return response
            response.drain_conn()
            after = urljoin(url, target)
            if after in seen:
                raise _redirects(url, "redirects in a circle")
            if urlsplit(after).netloc != urlsplit(url).netloc:
                sent.pop("Authorization", None)
            allowed = allowed and is_local(urlsplit(url).hostname or "")
            seen.add(after)
            url = after
        raise _redirects(url, f"redirects more than {MOST_REDIRECTS} times")

    def open(self, url: str, version: str, start: int, stop: int | None) -> ByteStream:
        """The bytes from ``start`` to before ``stop`` (None: the end) of a file that has this ``version``.

        Raises SourceError.
        """
        whole = start == 0 and stop is None
        headers = {} if whole else {"Range": f"bytes={start}-{'' if stop is None else stop - 1}"}
        if not whole and version and not version.startswith("W/"):  # RFC 9110, section 13.1.5
            headers["If-Range"] = version
        response = self.get(url, headers)
        changed = version and version_of(response) != version
        if response.status == _OUT_OF_RANGE or (response.status in (_OK, _PART) and changed):
            response.close()
            raise SourceError(
                f"{shown_address(url)} was replaced while it was fetched", cause=Cause.DATA_CHANGED
            )
        if response.status == _OK and not whole:
            response.close()
            raise SourceError(
                f"{shown_address(url)} no longer answers requests for a part of the file",
                cause=Cause.DATA_UNAVAILABLE,
                temporary=True,
            )
        if response.status not in (_OK, _PART):
            raise refused(url, response)
        return Body(response, url)

    def _send(self, url: str, headers: dict[str, str], *, link_local: bool) -> urllib3.BaseHTTPResponse:
        plain, credentials = _without_user(url)
        parts = urlsplit(plain)
        host = parts.hostname or ""
        if parts.scheme not in ("http", "https") or not host:
            raise SourceError(f"{shown_address(url)} is not an http or https address", cause=Cause.DATA)
        self._guard(link_local=link_local).check_name(host)
        try:
            return self._pools(plain, link_local=link_local).urlopen(
                "GET",
                plain,
                headers={**headers, **credentials},
                redirect=False,
                retries=False,
                timeout=self._timeout,
                preload_content=False,
            )
        except (exceptions.HTTPError, OSError, ValueError) as error:
            raise unreachable(url, error) from None

    @cached_property
    def _proxies(self) -> Mapping[str, urllib3.ProxyManager]:
        """The proxies of the environment by scheme."""
        addresses = {
            name: url if "://" in url else f"http://{url}" for name, url in getproxies_environment().items()
        }
        return {
            name: urllib3.ProxyManager(url, maxsize=_KEPT_CONNECTIONS, proxy_headers=_proxy_headers(url))
            for name, url in addresses.items()
            if name in ("http", "https")
        }

    def _pools(self, url: str, *, link_local: bool) -> urllib3.PoolManager:
        """The connections for this address, through the proxy of the environment where there is one."""
        if self._proxies:
            parts = urlsplit(url)
            if (proxy := self._proxies.get(parts.scheme)) and not proxy_bypass(parts.netloc):
                return proxy
        return self._open if link_local else self._closed


def _proxy_headers(proxy: str) -> dict[str, str]:
    user = urllib3.util.parse_url(proxy).auth
    return dict(urllib3.make_headers(proxy_basic_auth=user)) if user else {}


class Body:
    """The body of a response as a stream; a complete one leaves its connection for the next request."""

    def __init__(self, response: urllib3.BaseHTTPResponse, url: str) -> None:
        self._response = response
        self._url = url
        self._ended = False

    def read1(self, size: int, /) -> bytes:
        try:
            data = self._response.read1(size, decode_content=False)
        except (exceptions.IncompleteRead, exceptions.ProtocolError) as error:
            raise SourceError(
                f"{shown_address(self._url)} ended the response before the end of the data",
                cause=Cause.DATA_TRUNCATED,
                temporary=True,
            ) from error
        except (exceptions.HTTPError, OSError) as error:
            raise unreachable(self._url, error) from None
        self._ended = not data
        return data

    def close(self) -> None:
        if self._ended:
            self._response.release_conn()
        else:
            self._response.close()


def refused(url: str, response: urllib3.BaseHTTPResponse) -> SourceError:
    """The error for a response without the data. Closes the response."""
    status, again_after_s = response.status, _again_after_s(response.headers.get("retry-after", ""))
    response.close()
    message = f"{shown_address(url)} answered {status}"
    if status >= 500 or status in _TEMPORARY:
        return SourceError(message, cause=Cause.DATA_UNAVAILABLE, temporary=True, again_after_s=again_after_s)
    return SourceError(message, cause=_CAUSES.get(status, Cause.DATA))


def unreachable(url: str, error: Exception) -> SourceError:
    """The error for a server that did not answer."""
    reason = "the connection failed"
    if isinstance(error, exceptions.SSLError):
        return SourceError(
            f"{shown_address(url)}: its certificate is not accepted",
            cause=Cause.DATA_UNAVAILABLE,
            remedy="set SSL_CERT_FILE to the certificate of its authority",
        )
    if isinstance(error, ValueError) and not isinstance(error, exceptions.HTTPError):
        return SourceError(f"{shown_address(url)} is not a valid address", cause=Cause.DATA)
    if isinstance(error, exceptions.NameResolutionError):
        reason = "the host name cannot be resolved"
    elif isinstance(error, exceptions.NewConnectionError):
        reason = "the connection is refused, or the network is down"
    elif isinstance(error, exceptions.TimeoutError | TimeoutError):
        reason = "no answer in time"
    return SourceError(f"{shown_address(url)}: {reason}", cause=Cause.DATA_UNAVAILABLE, temporary=True)


def version_of(response: urllib3.BaseHTTPResponse) -> str:
    """The ETag (quoted) or else the time of the last change."""
    return response.headers.get("etag") or response.headers.get("last-modified") or ""


def total_bytes(response: urllib3.BaseHTTPResponse) -> int | None:
    """The size of the whole file in a response with a part of it; None: the server does not say it."""
    match = re.fullmatch(r"bytes (?:\d+-\d+|\*)/(\d+)", response.headers.get("content-range", "").strip())
    return int(match[1]) if match else None


def _redirects(url: str, what: str) -> SourceError:
    return SourceError(f"{shown_address(url)} {what}", cause=Cause.DATA_REDIRECTS)


def _without_user(url: str) -> tuple[str, dict[str, str]]:
    """The address without user and password, and the header with them."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if not at:
        return url, {}
    token = base64.b64encode(unquote(user).encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), {"Authorization": f"Basic {token}"}


def _again_after_s(text: str) -> float | None:
    """Seconds to wait by Retry-After (RFC 9110, section 10.2.3); None without it."""
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError, TypeError):
        return None
