import pytest

from anubis.model.points import session_id
from anubis.store import open_store
from anubis.testing import FakeStore
from anubis.testing.builders import NOW_S
from anubis.testing.contracts.sessions import SessionsContract, a_period, sessions


class TestSessions(SessionsContract):
    pass


@pytest.mark.parametrize("kind", ["fake", "sqlite"])
def test_the_longest_pause_is_a_setting(kind, tmp_path):
    url = f"sqlite:///{tmp_path}/anubis.db"
    store = FakeStore(session_pause_s=600) if kind == "fake" else open_store(url, session_pause_s=600)
    found = sessions(store, [a_period(0.0), a_period(0.3), a_period(0.7)])
    assert found == [session_id("host", NOW_S + offset_s) for offset_s in (0, 0, 1260)]
    store.close()


@pytest.mark.parametrize("start_s", [1e18, -1e18, 1e300])
def test_a_time_outside_of_the_calendar_is_given_in_seconds(start_s):
    assert session_id("host", start_s).startswith(f"{start_s:.0f}-")
