"""HTTP requests to external services: without redirects and retries, and without secrets in messages.

Addresses may be secrets (those of Slack are), so messages contain only scheme and host, errors of urllib3 are not
chained, and its request log is disabled during a request.
"""

import json
import logging
import time
from collections.abc import Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import urllib3
from urllib3 import exceptions

from anubis.model.errors import NotifyError
from anubis.reporting.markup import one_line

CONNECT_S = 5.0
READ_S = 20.0
#: Maximum size of a response that is read; a hundred GitHub comments of the maximum size are 6.5 MB.
MAX_BYTES = 16 << 20
#: Upper limit for the retry delay that a service requests.
MAX_AGAIN_S = 86_400.0

#: Temporary refusals: request timeout, too early, too many requests.
_TEMPORARY = (408, 425, 429)
_FORBIDDEN = 403
_silent: ContextVar[bool] = ContextVar("silent", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The response of a service."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON. Raises a temporary NotifyError."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise NotifyError(
                "the response is not JSON", remedy="check that the address is the address of the API"
            ) from None


def send(
    method: str,
    url: str,
    body: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
    accept: Collection[int] = (),
    quote: bool = True,
) -> Answer:
    """Send ``body`` (bytes unchanged, anything else as JSON). Returns the response if its status is 2xx or in ``accept``.

    Raises NotifyError otherwise: temporary for a failed connection, a rate limit and 5xx, permanent for a refusal.
    ``quote``: the message contains the error text of the service, unless it may contain the address.
    """
    service = shown(url)
    if not url.startswith(("http://", "https://")):
        raise NotifyError(f"{service} is not an http or https address", permanent=True)
    content = body if body is None or isinstance(body, bytes) else json.dumps(body, allow_nan=False).encode()
    sent = {
        "User-Agent": "anubis-bench",
        **({"Content-Type": "application/json"} if content else {}),
    }
    sent |= dict(headers or {})
    silence = _silent.set(True)
    try:
        response = _pool(_proxy(url)).request(
            method,
            url,
            body=content,
            headers=sent,
            redirect=False,
            retries=False,
            timeout=urllib3.Timeout(connect=CONNECT_S, read=READ_S),
            preload_content=False,
        )
        answer = Answer(status=response.status, headers=response.headers, body=response.read(MAX_BYTES))
        response.close()
    except (exceptions.HTTPError, OSError, ValueError) as error:
        reason, remedy = _reason(error)
        malformed = isinstance(error, ValueError)
        raise NotifyError(
            f"{service} could not be reached: {reason}", permanent=malformed, remedy=remedy
        ) from None
    finally:
        _silent.reset(silence)
    if 200 <= answer.status < 300 or answer.status in accept:
        return answer
    raise refusal(service, answer, _error_text(answer) if quote else "")


def refusal(service: str, answer: Answer, error_text: str = "") -> NotifyError:
    """The NotifyError for a response without success."""
    message = f"{service} answered {answer.status}" + (f": {error_text}" if error_text else "")
    if answer.status >= 500 or _limited(answer):
        return NotifyError(message, again_after_s=_again_after_s(answer.headers))
    if 300 <= answer.status < 400:
        return NotifyError(
            message, permanent=True, remedy="use the final address: redirects are not followed"
        )
    return NotifyError(message, permanent=True, remedy="check the address and its credentials")


def shown(url: str) -> str:
    """Scheme, host and port of an address, without parts that may be secret."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid address"
    return f"{parts.scheme}://{parts.hostname or ''}{port}"


def token(text: str) -> str:
    """A secret that is valid in a header. Raises ValueError, without the value."""
    if not all("!" <= char <= "~" for char in text):
        raise ValueError("a token: it contains a character that is not allowed in a token")
    return text


def service_url(text: str) -> str:
    """An http or https address of a service, without a slash at its end. Raises ValueError."""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("an http or https address, such as https://HOST/...")
    return text.rstrip("/")


@cache
def _pool(proxy: str | None) -> urllib3.PoolManager:
    logging.getLogger("urllib3.connectionpool").addFilter(lambda _: not _silent.get())
    if not proxy:
        return urllib3.PoolManager()
    user = urllib3.util.parse_url(proxy).auth
    return urllib3.ProxyManager(proxy, proxy_headers=urllib3.make_headers(proxy_basic_auth=user))


def _proxy(url: str) -> str | None:
    """The proxy for this address from the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY)."""
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxy = getproxies_environment().get(parts.scheme)
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _error_text(answer: Answer) -> str:
    """The error message of the service; empty if it may contain markup or the requested path."""
    text = answer.body[:2000].decode(errors="replace")
    try:
        plain = json.loads(text)
    except ValueError:
        plain = text
    if isinstance(plain, dict):
        plain = plain.get("message") or plain.get("error")
    line = one_line(plain) if isinstance(plain, str) else ""
    return "" if set(line) & set("/<>") else line


def _limited(answer: Answer) -> bool:
    """Whether a rate limit is exceeded; GitHub uses 403 as well as 429."""
    spent = answer.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in answer.headers
    return answer.status in _TEMPORARY or (answer.status == _FORBIDDEN and spent)


def _again_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by Retry-After (RFC 9110, section 10.2.3) or GitHub's x-ratelimit-reset; None without both."""
    asked, reset = headers.get("retry-after", "").strip(), headers.get("x-ratelimit-reset", "").strip()
    if asked.isdecimal() and asked.isascii():
        seconds = float(asked)
    elif asked:
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    elif reset.isdecimal() and reset.isascii() and headers.get("x-ratelimit-remaining") == "0":
        seconds = float(reset) - time.time()
    else:
        return None
    return min(max(seconds, 0.0), MAX_AGAIN_S)


def _reason(error: Exception) -> tuple[str, str]:
    """A description of the error without the address, and a remedy, which may be empty."""
    if isinstance(error, exceptions.ProxyError):
        return "the proxy refused the request", "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
    if isinstance(error, exceptions.NameResolutionError):
        return "the host name cannot be resolved", ""
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return "timeout", ""
    if isinstance(error, exceptions.SSLError):
        return (
            "its certificate or TLS version is not accepted",
            "set SSL_CERT_FILE to the certificate of its authority",
        )
    if isinstance(error, exceptions.NewConnectionError | ConnectionRefusedError):
        return "connection refused, or the network is down", ""
    if isinstance(error, ValueError):
        return "the address is not valid", "correct the address"
    return "the connection broke", ""
