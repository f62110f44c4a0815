"""What writers of PostgreSQL announce to other processes, and what a listener does while the server is away."""

import contextlib
import threading

import pytest

from anubis.store import EVENTS, WORK, listener_of, open_store
from anubis.testing import a_run, an_event
from anubis.testing.builders import NOW_S
from anubis.testing.contracts.runs import claimed
from support.postgresql import binaries, cluster
from support.processes import until


@contextlib.contextmanager
def listening(url):
    """The announcements, and the listener, until the end of the block."""
    news = []
    listener = listener_of(url, news.append)
    thread = threading.Thread(target=listener.listen)
    thread.start()
    try:
        until(lambda: listener.connected and news, "it listens")
        assert news.pop() == {EVENTS, WORK}, "what happened before is not known"
        yield news, listener
    finally:
        listener.close()
        thread.join()


@pytest.fixture
def stored(postgresql_url):
    store = open_store(postgresql_url)
    yield store
    store.close()


def heard(news):
    """What was announced since the last call, once there is something."""
    until(lambda: news, "something is announced")
    return news.pop(0)


@pytest.mark.postgresql
def test_writers_announce_events_and_work(stored, postgresql_url):
    run = a_run()
    with listening(postgresql_url) as (news, _):
        stored.runs.add([(run, "text")], [an_event(run)])
        assert heard(news) == {EVENTS, WORK}
        stored.events.append([an_event(run)])
        assert heard(news) == {EVENTS}
        assert claimed(stored, "one", now_s=NOW_S) == [run]
        stored.leases.release("two")
        stored.leases.release("one", [run.id])
        assert heard(news) == {WORK}
        stored.runs.request_cancel([run.id], [])
        assert heard(news) == {WORK}
        assert news == [], "claims, and a release that changes nothing, are not announced"


@pytest.mark.postgresql
def test_what_is_rolled_back_is_not_announced(stored, postgresql_url):
    run = a_run()
    stored.runs.add([(run, "text")], [])

    def fail(session):
        session.notify(WORK)
        raise ValueError("undo")

    with listening(postgresql_url) as (news, _):
        with pytest.raises(ValueError, match="undo"):
            stored.database.transact(fail)
        stored.events.append([an_event(run)])
        assert heard(news) == {EVENTS}


@pytest.mark.postgresql
def test_a_listener_reconnects_and_then_announces_everything():
    if not (folder := binaries()):
        pytest.skip("PostgreSQL server binaries not installed")
    with cluster(folder) as server, listening(server.url) as (news, listener):
        server.stop()
        until(lambda: not listener.connected, "it is known that announcements are missed")
        server.start()
        assert heard(news) == {EVENTS, WORK}
        store = open_store(server.url)
        store.runs.add([(a_run(), "text")], [])
        assert heard(news) == {WORK}
        store.close()


def test_sqlite_announces_nothing(tmp_path):
    assert listener_of(f"sqlite:///{tmp_path}/anubis.db", print) is None
