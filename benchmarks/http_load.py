"""Requests of several clients at the same time, each on one connection, with little CPU time: the cores are shared with the service."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvloop


@dataclass(frozen=True, slots=True)
class Measured:
    """Answered requests."""

    #: Time of each answer, in seconds, sorted.
    took_s: list[float]
    #: From the first request to the last answer, seconds.
    lasted_s: float

    @property
    def per_s(self) -> float:
        return len(self.took_s) / self.lasted_s

    def quantile_ms(self, share: float) -> float:
        """The time that this share of the answers does not exceed, by the method of the nearest rank."""
        rank = -int(-share * len(self.took_s) // 1)
        return 1000.0 * self.took_s[max(rank, 1) - 1]


def get(path: str) -> bytes:
    """A request without a body."""
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def post(path: str, body: bytes, key: str = "") -> bytes:
    """A request with a JSON body and, if there is one, an idempotency key."""
    keyed = f"Idempotency-Key: {key}\r\n" if key else ""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{keyed}\r\n"
    )
    return head.encode() + body


def load(
    url: str,
    request: Callable[[int], bytes],
    *,
    clients: int,
    seconds: float = 0.0,
    count: int = 0,
    expected: int = 200,
) -> Measured:
    """Send requests until the time is over, or ``count`` of them.

    ``request`` makes the request with a number. Raises AssertionError if an answer has another status than ``expected``.
    """
    return uvloop.run(_load(url, request, clients, seconds, count, expected))


async def _load(
    url: str,
    request: Callable[[int], bytes],
    clients: int,
    seconds: float,
    count: int,
    expected: int,
) -> Measured:
    address = urlsplit(url)
    took_s: list[float] = []
    sent, begin_s = 0, time.perf_counter()

    async def client() -> None:
        nonlocal sent
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        while sent < count if count else time.perf_counter() - begin_s < seconds:
            number, sent = sent, sent + 1
            data = request(number)
            sent_s = time.perf_counter()
            writer.write(data)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(length)
            took_s.append(time.perf_counter() - sent_s)
            assert int(head[9:12]) == expected, (head, body[:2000])
        writer.close()

    await asyncio.gather(*[client() for _ in range(clients)])
    return Measured(sorted(took_s), time.perf_counter() - begin_s)
