"""Events that are read once for many clients: every client gets each of them once, in order."""

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from anubis.model.status import Status
from anubis.record.validation import DamagedError
from anubis.web.live import feeds
from anubis.web.live.feeds import BehindError, Feed
from anubis.web.live.reading import Wanted


@dataclass
class Place:
    attempt: int = 1
    replicas: int = 0

    def __str__(self):
        return str(self.replicas)


@dataclass
class Follower:
    """Follows a list, one element at a time."""

    data: list
    place: Place = field(default_factory=Place)

    def add(self, keys):
        pass

    def batch(self, *, last):
        found = self.data[self.place.replicas : self.place.replicas + 1]
        if found == ["damaged"]:
            raise DamagedError("damaged")
        self.place.replicas += len(found)
        return found


def seen(status=Status.WATCH):
    return SimpleNamespace(version=1, run=SimpleNamespace(attempt=1, status=status), replicas=())


def wanted():
    return Wanted(
        installation=None,
        run_id="x",
        role=None,
        rank=None,
        chosen="",
        start=None,
        resume=None,
        place_of=None,
        place=None,
        kind="lines",
        to_json=str,
    )


async def ids(feed, number):
    return [event_id async for event_id, _ in feed.events(number) if event_id]


def test_clients_at_the_same_place_share_what_is_read_from_then_on():
    async def work():
        data, feed = ["a", "b"], Feed(wanted())
        numbers = [await feed.join(Follower(data, Place(1, 2)), seen) for _ in range(3)]
        assert await feed.join(Follower(data, Place(1, 1)), seen) is None, "it must read on first"
        clients = [asyncio.create_task(ids(feed, number)) for number in numbers]
        data += ["c", "d"]
        await feed.advance(seen())
        await feed.advance(seen(Status.SUCCEEDED))
        assert await asyncio.gather(*clients) == [["3", "4", "4"]] * 3
        assert await feed.join(Follower(data, Place(1, 4)), seen) is None, "it has ended"

    asyncio.run(work())


def test_what_was_written_before_a_client_joined_is_read_although_no_look_follows():
    """The client has read before the last look at the run, and joins after it."""

    async def work():
        data, feed = ["a"], Feed(wanted())
        follower = Follower(data, Place(1, 1))
        data.append("b")
        number = await feed.join(follower, lambda: seen(Status.SUCCEEDED))
        assert await ids(feed, number) == ["2", "2"]

    asyncio.run(work())


def test_a_client_that_is_too_slow_is_sent_away(monkeypatch):
    monkeypatch.setattr(feeds, "MOST_EVENTS", 2)

    async def work():
        data, feed = [], Feed(wanted())
        number = await feed.join(Follower(data), seen)
        slow = feed.events(number)
        data += ["a", "b"]
        await feed.advance(seen())
        assert (await anext(slow))[0] == "1"
        data += ["c", "d", "e"]
        await feed.advance(seen())
        with pytest.raises(BehindError):
            await anext(slow)
        await feed.advance(seen())
        joined = Follower(data, Place(1, 5))
        number = await feed.join(joined, seen)
        data.append("f")
        await feed.advance(seen(Status.SUCCEEDED))
        assert await ids(feed, number) == ["6", "6"], "numbers are not used again"

    asyncio.run(work())


def test_a_damaged_record_ends_all_clients():
    async def work():
        data, feed = [], Feed(wanted())
        client = asyncio.create_task(ids(feed, await feed.join(Follower(data), seen)))
        data += ["a", "damaged"]
        with pytest.raises(DamagedError):
            await feed.advance(seen())
        assert feed.is_over
        assert await client == ["1"]

    asyncio.run(work())
