"""Requests to a service, and the errors that they end in."""

import json
import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode, urlsplit

import urllib3
import zstandard

from anubis.api.errors import BLANK, error_of
from anubis.client import registration
from anubis.model.errors import AnubisError, BadInputError, NotFoundError, StoreError
from anubis.settings import Settings
from anubis.submission.person import person

PREFIX, NOT_FOUND = "/api/v1", 404
#: Longest wait for a connection, and for the next bytes of an answer, seconds.
CONNECT_S, READ_S = 5.0, 600.0
#: A stream without a byte for this long is broken; the service sends one every 5 s.
STREAM_S = 20.0
#: Most runs that are named in one address.
MOST_NAMED = 200
_PIECE = 1 << 20
#: Of what arrived when a connection breaks, at most this much is transferred again, bytes.
_KEPT = 1 << 16
_JSON = {"Content-Type": "application/json"}
#: A connection that the service has closed meanwhile: the request is sent again on a new one.
_AGAIN = urllib3.Retry(
    total=2, backoff_factor=0.1, allowed_methods=None, raise_on_status=False, respect_retry_after_header=False
)
#: A request that must not arrive twice is sent again only if there was no connection.
_ONCE = urllib3.Retry(
    total=2,
    connect=2,
    read=0,
    other=0,
    backoff_factor=0.1,
    allowed_methods=None,
    raise_on_status=False,
    respect_retry_after_header=False,  # the header of a quota may name tomorrow
)

Params = Sequence[tuple[str, str]]


# A request that is sent again needs no warning; one that fails is an error of ours.
logging.getLogger("urllib3.connectionpool").setLevel(logging.ERROR)


class ServiceConnection:
    """The service at one address, for the person in the settings. Several threads may use it."""

    def __init__(self, url: str, settings: Settings) -> None:
        self.url = url.rstrip("/")
        self.settings = settings
        self._token = registration.token_of(settings, self.url)
        self._pool = urllib3.PoolManager(
            maxsize=8, timeout=urllib3.Timeout(connect=CONNECT_S, read=READ_S), retries=_AGAIN
        )

    def close(self) -> None:
        self._pool.clear()

    def get(self, path: str, params: Params = ()) -> Any:
        """The JSON value at a path below the prefix."""
        headers = {"Accept-Encoding": "zstd"}
        return self._json(
            self._answer("GET", self._address(path, params), headers=headers, decode_content=False)
        )

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        method: str = "POST",
        key: str | None = None,
        read_s: float = READ_S,
    ) -> Any:
        """The JSON answer to a JSON body. With an idempotency key, a request without an answer is repeated."""
        headers = {**_JSON, **({"Idempotency-Key": key} if key else {})}
        answer = self._answer(
            method,
            self._address(path),
            body=json.dumps(body).encode(),
            headers=headers,
            retries=_AGAIN if key else _ONCE,
            timeout=urllib3.Timeout(connect=CONNECT_S, read=read_s),
        )
        return self._json(answer)

    def outside(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """The JSON answer at a path without the prefix. The request is not repeated."""
        headers = {"Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        answer = self._answer(method, f"{self.url}{path}", body=content, headers=headers, retries=_ONCE)
        return self._json(answer)

    def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON answer; the request may be repeated."""
        return self.post(path, body, method="PUT")

    def delete(self, path: str) -> Any:
        """The JSON answer."""
        return self._json(self._answer("DELETE", self._address(path), retries=_ONCE))

    def upload(
        self,
        method: str,
        path: str,
        content: bytes | BinaryIO,
        params: Params = (),
        *,
        encoding: str | None = None,
        again: bool = False,
    ) -> Any:
        """The JSON answer to a body of bytes. ``again``: a request without an answer may be repeated."""
        headers = {"Content-Type": "application/octet-stream"}
        if encoding:
            headers["Content-Encoding"] = encoding
        answer = self._answer(
            method,
            self._address(path, params),
            body=content,
            headers=headers,
            retries=_AGAIN if again else _ONCE,
        )
        return self._json(answer)

    def content(self, path: str, params: Params = ()) -> tuple[bytes, Mapping[str, str]]:
        """The bytes at a path, and the headers of the answer."""
        answer = self._answer("GET", self._address(path, params))
        return answer.data, answer.headers

    def pieces(
        self, path: str, params: Params = (), *, body: Mapping[str, Any] | None = None
    ) -> Iterator[bytes]:
        """The bytes of an answer as they arrive, to GET, or to POST with a body. Raises StoreError for a broken connection."""
        answer = self._answer(
            "GET" if body is None else "POST",
            self._address(path, params),
            preload_content=False,
            **({} if body is None else {"body": json.dumps(body).encode(), "headers": _JSON}),
        )
        try:
            yield from answer.stream(_KEPT)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._away(error) from error
        finally:
            answer.close()

    def follow(
        self, path: str, params: Params, *, last_id: str | None = None
    ) -> Generator[tuple[str, Any] | None, None, None]:
        """(id, data) of server-sent events as they arrive, after the event with ``last_id``; None for a sign of life.

        Raises StoreError when the connection ends.
        """
        answer = self._answer(
            "GET",
            self._address(path, params),
            headers={"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})},
            preload_content=False,
            timeout=urllib3.Timeout(connect=CONNECT_S, read=STREAM_S),
        )
        try:
            received = b""
            while piece := answer.read1(_PIECE):
                *blocks, received = (received + piece).split(b"\n\n")
                yield from map(_event, blocks)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._away(error) from error
        finally:
            answer.close()
        raise StoreError(f"the service at {self.url} has ended the stream", remedy="try again")

    def probe(self, path: str) -> Mapping[str, Any]:
        """The answer at a path without the prefix, whatever its status is."""
        answer = self._sent("GET", f"{self.url}{path}", {})
        found: Mapping[str, Any] = self._json(answer)
        return found

    def _address(self, path: str, params: Params = ()) -> str:
        return f"{self.url}{PREFIX}/{path}{'?' if params else ''}{urlencode(params)}"

    def _answer(self, method: str, address: str, **options: Any) -> urllib3.BaseHTTPResponse:
        """The answer of the service. Raises the error that it contains, and StoreError if there is none."""
        answer = self._sent(method, address, options)
        if answer.status < 300:
            return answer
        if options.get("preload_content") is False:
            answer.drain_conn()
        try:
            details = answer.json()
            if not isinstance(details, dict):
                raise TypeError
        except (ValueError, TypeError, UnicodeDecodeError):
            raise self._not_a_service(f"status {answer.status}") from None
        if answer.status == NOT_FOUND and details.get("type") == BLANK:  # no route has this path
            raise NotFoundError(
                f"the service at {self.url} has nothing at {urlsplit(address).path}",
                remedy="check the name; a service of an earlier version must be upgraded",
            )
        raise error_of(details)

    def _sent(self, method: str, address: str, options: dict[str, Any]) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": "application/json", **options.pop("headers", {})}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if self.settings.project:
            headers["Anubis-Project"] = self.settings.project
        if method != "GET":
            headers["Anubis-Person"] = quote(person(self.settings))
        try:
            # Redirects are not followed: another server must not get the token.
            return self._pool.request(method, address, headers=headers, redirect=False, **options)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise self._away(error) from error

    def _json(self, answer: urllib3.BaseHTTPResponse) -> Any:
        try:
            if (
                answer.headers.get("Content-Encoding") == "zstd"
            ):  # urllib3 decodes it only with another library
                return json.loads(zstandard.ZstdDecompressor().decompress(answer.data))
            return answer.json()
        except (ValueError, UnicodeDecodeError, zstandard.ZstdError):
            raise self._not_a_service("an answer that is not JSON") from None

    def _away(self, error: Exception) -> StoreError:
        return StoreError(
            f"the service at {self.url} does not answer: {_reason(error)}",
            remedy="start it with anubis serve, or use the home folder of this machine: anubis unregister",
        )

    def _not_a_service(self, found: str) -> AnubisError:
        return StoreError(
            f"{self.url} does not answer like a service of Anubis: {found}",
            remedy="register the address that anubis serve prints: anubis register URL",
        )


def _event(block: bytes) -> tuple[str, Any] | None:
    """The event in the lines of one block."""
    fields = dict(line.partition(": ")[::2] for line in block.decode().splitlines())
    return (fields["id"], json.loads(fields["data"])) if "data" in fields else None


def _reason(error: BaseException) -> str:
    """The innermost reason."""
    for inner in (getattr(error, "reason", None), error.__cause__, error.__context__):
        if isinstance(inner, BaseException):
            return _reason(inner)
    return str(getattr(error, "strerror", None) or error)


def unavailable(connection: ServiceConnection, what: str) -> BadInputError:
    """The error of an operation that needs the home folder of the service."""
    return BadInputError(
        f"{what} is not possible through the service {connection.url}",
        remedy="use it on the machine of the service, in its home folder: set ANUBIS_SERVICE_URL to none",
    )
