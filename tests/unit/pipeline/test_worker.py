"""When a worker leaves."""

import pytest

from anubis.model.errors import AnubisError
from anubis.pipeline import worker


class Office:
    """A worker's surroundings at a time that the test owns."""

    def __init__(self, home, monkeypatch):
        self.now_s, self.runs, self.outstanding, self.looks = 1000.0, 0, False, 0
        monkeypatch.setattr("anubis.pipeline.worker.time.monotonic", lambda: self.now_s)
        self.replaced = False
        self.is_idle = worker.idle(home, self, self.unfinished, lambda: self.outstanding)

    def keep(self):
        return not self.replaced

    def unfinished(self):
        self.looks += 1
        return self.runs

    def at(self, seconds):
        """Whether it is idle that many seconds after its start."""
        self.now_s = 1000.0 + seconds
        return self.is_idle()


@pytest.fixture
def office(tmp_path, monkeypatch):
    return Office(tmp_path, monkeypatch)


def test_a_worker_without_runs_and_chores_leaves_at_once(office):
    assert office.at(0)


def test_runs_keep_it_and_are_not_counted_all_the_time(office):
    office.runs = 1
    assert not any(office.at(tenth / 10) for tenth in range(30))
    assert office.looks == 3
    office.runs = 0
    assert office.at(3.0)


def test_an_outstanding_chore_keeps_it_for_an_hour(office):
    office.outstanding = True
    assert not office.at(0)
    assert not office.at(worker.PATIENCE_S)
    assert office.at(worker.PATIENCE_S + 1)


def test_the_hour_begins_when_a_chore_became_outstanding(office):
    office.runs = 1
    office.at(5000)
    office.runs, office.outstanding = 0, True
    assert not office.at(5000 + worker.PATIENCE_S)
    assert office.at(5001 + worker.PATIENCE_S)


def test_a_chore_that_is_done_lets_it_leave_without_delay(office):
    office.outstanding = True
    office.at(0)
    office.outstanding = False
    assert office.at(0.01)


def test_a_worker_whose_home_is_gone_says_so(office, tmp_path):
    tmp_path.rmdir()
    with pytest.raises(AnubisError, match="no longer exists"):
        office.at(0)


def test_only_one_worker_at_a_time(tmp_path):
    driven = []
    with worker.only_worker(tmp_path) as mine:
        assert mine
        assert not worker.work(tmp_path, lambda lock: driven.append(1), lambda: 0)
    assert worker.work(tmp_path, lambda lock: driven.append(1), lambda: 0)
    assert driven == [1]


def test_a_run_that_comes_while_it_leaves_is_driven_too(tmp_path):
    unfinished = iter([1, 0])
    driven = []
    assert worker.work(tmp_path, lambda lock: driven.append(1), lambda: next(unfinished))
    assert driven == [1, 1]


def test_a_replaced_worker_leaves_although_there_are_runs(office):
    office.runs = 1
    assert not office.at(0)
    office.replaced = True
    assert office.at(1)


class Home:
    """The lock of a home folder at a time that the test owns."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.now_s = folder, 1000.0
        monkeypatch.setattr("anubis.pipeline.worker.time.monotonic", lambda: self.now_s)

    def locked(self):
        return worker.only_worker(self.folder)


@pytest.fixture
def home(tmp_path, monkeypatch):
    return Home(tmp_path, monkeypatch)


def test_a_worker_that_makes_progress_is_not_replaced(home):
    with home.locked() as first:
        for _ in range(10):
            home.now_s += worker.STALLED_S
            assert first.keep()
            with home.locked() as second:
                assert second is None


def test_a_worker_without_progress_is_replaced_and_yields(home):
    with home.locked() as first:
        home.now_s += worker.STALLED_S + 1
        with home.locked() as second:
            assert second.keep()
            assert not first.keep()
            with home.locked() as third:
                assert third is None
        with home.locked() as fourth:
            assert fourth is not None, "the replaced worker does not keep the new file locked"
    assert [path.name for path in home.folder.iterdir()] == ["worker.lock"]


@pytest.mark.parametrize(
    "note", ["", "[]", "{}", '{"boot": "of another machine", "monotonic_s": 0}', '{"boot": 1']
)
def test_a_worker_whose_progress_is_unknown_is_not_replaced(home, note):
    with home.locked():
        (home.folder / "worker.lock").write_text(note)
        home.now_s += 1e6
        with home.locked() as other:
            assert other is None
