"""One HTTP request to somebody's service: no redirects, no retries, no secrets in what is said about it.

Addresses may be secrets themselves (Slack's are), so messages name scheme and host only, errors of urllib3 are not
chained, and its log of requests is silent meanwhile.
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
#: More than this is read of no answer; a hundred comments of GitHub's largest size are 6.5 MB.
MOST_BYTES = 16 << 20
#: Nobody is believed who asks for more patience than this.
MOST_AGAIN_S = 86_400.0

#: Refusals that may pass: request timeout, too early, too many requests.
_PASSING = (408, 425, 429)
_FORBIDDEN = 403
_silent: ContextVar[bool] = ContextVar("silent", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON; a temporary NotifyError when it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise NotifyError(
                "the answer is not JSON", remedy="check that the address is that of the API"
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
    """Send ``body`` (bytes as they are, anything else as JSON); the answer, if its status is 2xx or accepted.

    Raises NotifyError otherwise: temporary for a connection that failed, a limit on the rate and 5xx, permanent
    for a refusal. ``quote``: the message says what the other side said, unless that could hold our address.
    """
    place = shown(url)
    if not url.startswith(("http://", "https://")):
        raise NotifyError(f"{place} is no http or https address", permanent=True)
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
        answer = Answer(status=response.status, headers=response.headers, body=response.read(MOST_BYTES))
        response.close()
    except (exceptions.HTTPError, OSError, ValueError) as error:
        reason, remedy = _reason(error)
        malformed = isinstance(error, ValueError)
        raise NotifyError(
            f"{place} could not be reached: {reason}", permanent=malformed, remedy=remedy
        ) from None
    finally:
        _silent.reset(silence)
    if 200 <= answer.status < 300 or answer.status in accept:
        return answer
    raise refusal(place, answer, _said(answer) if quote else "")


def refusal(place: str, answer: Answer, said: str = "") -> NotifyError:
    """What an answer that is no success means for the relay."""
    message = f"{place} answered {answer.status}" + (f": {said}" if said else "")
    if answer.status >= 500 or _limited(answer):
        return NotifyError(message, again_after_s=_again_after_s(answer.headers))
    if 300 <= answer.status < 400:
        return NotifyError(
            message, permanent=True, remedy="name the final address: redirects are not followed"
        )
    return NotifyError(message, permanent=True, remedy="check the address and its credentials")


def shown(url: str) -> str:
    """An address without what may be secret in it."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.scheme}://{parts.hostname or ''}{port}"


def token(text: str) -> str:
    """A secret that travels in a header. ValueError, without the value, when it cannot."""
    if not all("!" <= char <= "~" for char in text):
        raise ValueError("a token: it holds a character that no token has")
    return text


def service_url(text: str) -> str:
    """An http or https address of a service, without a slash at its end. Raises ValueError."""
    try:
        parts = urlsplit(text)
        legal = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    except ValueError:
        legal = False
    if not legal:
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
    """The proxy that the environment names for this address (HTTPS_PROXY, HTTP_PROXY, NO_PROXY)."""
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxy = getproxies_environment().get(parts.scheme)
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _said(answer: Answer) -> str:
    """The other side's words, if they are words: servers like to repeat the path they were asked for."""
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
    """GitHub says 403 as well as 429 when its limits on the rate are reached."""
    spent = answer.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in answer.headers
    return answer.status in _PASSING or (answer.status == _FORBIDDEN and spent)


def _again_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by Retry-After (RFC 9110, section 10.2.3) or GitHub's x-ratelimit-reset; None: neither."""
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
    return min(max(seconds, 0.0), MOST_AGAIN_S)


def _reason(error: Exception) -> tuple[str, str]:
    """What failed, in words that hold no address, and a remedy where there is one."""
    if isinstance(error, exceptions.ProxyError):
        return "the proxy did not let it through", "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
    if isinstance(error, exceptions.NameResolutionError):
        return "its name is not known", ""
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return "no answer in time", ""
    if isinstance(error, exceptions.SSLError):
        return "its certificate or its TLS was not accepted", "name its authority's file in SSL_CERT_FILE"
    if isinstance(error, exceptions.NewConnectionError | ConnectionRefusedError):
        return "nobody listens there, or the network is down", ""
    if isinstance(error, ValueError):
        return "the address is malformed", "correct the address"
    return "the connection broke", ""
