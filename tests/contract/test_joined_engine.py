"""The engine ``joined`` on real databases, with a worker whose requests the test makes itself."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from anubis.contracts.records import RecordKey
from anubis.engines import joined
from anubis.engines.joined import JoinedEngine, JoinedSettings
from anubis.model.cause import Cause
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.hardware import Hardware
from anubis.model.launch import Handover, Launch
from anubis.model.machines.joined import JoinedWorker, Report
from anubis.model.machines.token import digest_of, is_token, new_token
from anubis.model.run import Seen
from anubis.pipeline.joined import handover, silence, turns
from anubis.record import layout
from anubis.store import FolderRecords, open_store
from anubis.testing.builders import NOW_S, a_descriptor, a_run
from anubis.testing.contracts.engine import EngineContract
from support.processes import until

LEASE_S = 30.0


@pytest.fixture
def workers(database_url):
    store = open_store(database_url)
    yield store.joined
    store.close()


@pytest.fixture
def clock(monkeypatch):
    """The clocks of the engine; the test moves them."""

    class Moving:
        now_s = NOW_S

        def time(self):
            return self.now_s

        monotonic = time

    clock = Moving()
    monkeypatch.setattr(joined, "time", clock)
    return clock


@pytest.fixture
def engine(workers, clock, tmp_path):
    settings = JoinedSettings(folder=tmp_path / "joined", records=tmp_path / "records", lease_s=LEASE_S)
    return JoinedEngine(settings, workers)


class Requests:
    """What a worker asks."""

    def __init__(self, workers, clock, name="one", **about):
        workers.add(name, digest_of(name), now_s=NOW_S)
        self.workers, self.clock, self.name = workers, clock, name
        self.about = {"place": name, "slots": 4, "engines": ("process",), "host": name, **about}

    def turn(self, *reports, **about):
        known = self.workers.get(self.name)
        reported = replace(known, **{**self.about, **about})
        now_s = self.clock.now_s
        worker = turns.beat(self.workers, known, reported, now_s=now_s, lease_s=LEASE_S)
        turns.note(self.workers, worker, reports)
        return turns.take(self.workers, worker, now_s=now_s)[0]


@pytest.fixture
def one(workers, clock):
    return Requests(workers, clock)


def report(each, seen, **more):
    return Report(run_id=each.run_id, attempt=each.attempt, seen=seen, **more)


def result(each):
    if each.cancel:
        return report(each, Seen.ENDED, exit_code=143, cause=Cause.CANCELLED)
    return report(each, Seen.ENDED, exit_code=0)


class TestJoinedEngine(EngineContract):
    @pytest.fixture
    def ended(self, engine, one):
        def wait(placement):
            def look():
                one.turn(*map(result, one.turn()))
                return engine.observe([placement])[placement.name].seen in {Seen.ENDED, Seen.LOST}

            until(look, "it has ended")

        return wait


def placed(engine, label="local", **info):
    hardware = Hardware(instance_type=label)
    descriptor = a_descriptor(hardware=hardware, **info)
    run = a_run(descriptor, engine="joined")
    given = Handover(variables={"A": "b"}, secrets={"key": "secret"})
    return run, engine.place(run, Launch(replicas=(), handover=given))


def seen(engine, placement):
    return engine.observe([placement])[placement.name]


def test_attempts_go_to_workers_with_the_labels_slots_and_engines(engine, workers, clock):
    plain = Requests(workers, clock, "plain", slots=1)
    fast = Requests(workers, clock, "fast", labels=("a100", "eu"), slots=2)
    boxes = Requests(workers, clock, "boxes", labels=("a100", "eu"), engines=("container",))
    runs = {label: placed(engine, label)[0].id for label in ("local", "a100", "a100&eu", "h100")}
    assert boxes.turn() == []
    assert [each.run_id for each in fast.turn()] == [runs["local"], runs["a100"]]
    assert plain.turn() == []
    fast.turn(*map(result, fast.turn()))
    assert [each.run_id for each in fast.turn()] == [runs["a100&eu"]]
    assert [each.run_id for each in workers.open() if not each.worker] == [runs["h100"]]


def test_a_higher_priority_is_first(engine, workers, clock):
    low, _ = placed(engine)
    clock.now_s += 1
    high, _ = placed(engine, priority=5)
    assert [each.run_id for each in Requests(workers, clock, slots=1).turn()] == [high.id]
    assert low.id


def test_a_limit_of_a_family_holds_over_all_workers(engine, workers, clock):
    for _ in range(5):
        run = replace(a_run(engine="joined"), family_id="family")
        engine.place(run, Launch(replicas=(), at_once=2))
    one, two = (Requests(workers, clock, name) for name in ("one", "two"))
    assert (len(one.turn()), len(two.turn())) == (2, 0)
    first, _ = one.turn()
    one.turn(result(first), slots=1)
    assert (len(one.turn(slots=1)), len(two.turn())) == (1, 1)


def test_what_is_handed_over_is_private_and_deleted_at_the_end(engine, one, tmp_path):
    run, placement = placed(engine)
    (file,) = (tmp_path / "joined").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert handover.read(tmp_path / "joined", placement.name).secrets == {"key": "secret"}
    one.turn(*map(result, one.turn()))
    assert seen(engine, placement).exit_code == 0
    assert not file.exists()
    assert run.id


def test_a_silent_worker_loses_its_attempt(engine, one, clock):
    _, placement = placed(engine)
    (each,) = one.turn()
    one.turn(report(each, Seen.RUNNING))
    for _ in range(5):
        assert seen(engine, placement).seen is Seen.RUNNING
        clock.now_s += LEASE_S / 4
        one.turn()
    for _ in range(4):
        assert seen(engine, placement).seen is Seen.RUNNING
        clock.now_s += LEASE_S / 4
    assert seen(engine, placement).seen is Seen.RUNNING, "the lease is exactly over"
    clock.now_s += 1
    lost = seen(engine, placement)
    assert (lost.seen, "sent no request for 30 s" in lost.reason) == (Seen.LOST, True)
    assert one.turn(report(each, Seen.ENDED, exit_code=0)) == []
    assert seen(engine, placement).seen is Seen.LOST, "it stays lost"


def test_a_process_that_was_stopped_or_started_again_waits_for_a_whole_lease(engine, one, clock):
    _, placement = placed(engine)
    one.turn()
    seen(engine, placement)
    clock.now_s += 100 * LEASE_S
    assert seen(engine, placement).seen is Seen.WAITING
    again = JoinedEngine(engine._settings, one.workers)
    assert again.observe([placement])[placement.name].seen is Seen.WAITING
    clock.now_s += silence.LOOK_S
    one.turn()
    assert seen(engine, placement).seen is Seen.WAITING


def test_a_silent_worker_whose_record_is_complete_has_ended(engine, one, clock, tmp_path):
    run, placement = placed(engine)
    (each,) = one.turn()
    one.turn(report(each, Seen.RUNNING))
    seen(engine, placement)
    records = FolderRecords(tmp_path / "records")
    records.replace(
        RecordKey(run.id, 1), layout.EXIT, b'{"code": 3, "cause": "user_error", "reason": "exit 3"}'
    )
    for _ in range(6):
        clock.now_s += LEASE_S / 4
        last = seen(engine, placement)
    assert (last.seen, last.exit_code) == (Seen.ENDED, 3)


def test_a_request_at_the_end_of_the_lease_wins_or_loses_but_not_both(engine, one, workers):
    _, placement = placed(engine)
    (each,) = one.turn()
    beats = workers.get("one").beats
    one.turn()
    assert workers.close_silent(turns.closed(each, Seen.LOST, "silent"), beats=beats) is None
    assert [other.name for other in one.turn()] == [placement.name]


def test_reports_out_of_order_change_nothing(engine, one):
    _, placement = placed(engine)
    (each,) = one.turn()
    one.turn(report(each, Seen.RUNNING, reason="it runs"))
    one.turn(report(each, Seen.WAITING, reason="late"))
    assert seen(engine, placement).reason == "it runs"
    one.turn(report(each, Seen.ENDED, exit_code=0))
    one.turn(report(each, Seen.RUNNING))
    assert seen(engine, placement).seen is Seen.ENDED


def test_an_attempt_that_a_worker_may_have_started_is_not_revoked(engine, one, workers):
    run, _ = placed(engine)
    (each,) = one.turn()
    workers.change(replace(each, is_taken=True))
    assert not engine.revoke(run)
    other, _ = placed(engine)
    one.turn()
    assert engine.revoke(other), "the worker has not asked for it yet"
    assert [named.run_id for named in one.turn()] == [run.id]


def test_a_worker_in_another_home_folder_loses_what_the_first_one_has(engine, one, clock):
    _, placement = placed(engine)
    one.turn()
    with pytest.raises(Exception, match="is active in another home folder"):
        one.turn(place="elsewhere")
    clock.now_s += LEASE_S + 1
    assert one.turn(place="elsewhere") == []
    assert "another home folder" in seen(engine, placement).reason


def test_a_replaced_or_revoked_token_is_refused(workers, clock):
    one = Requests(workers, clock)
    token = new_token("anubis-worker")
    known = workers.get("one")
    assert workers.of_token(digest_of("one")) == known
    workers.add("one", digest_of(token), now_s=NOW_S)
    assert workers.of_token(digest_of("one")) is None
    with pytest.raises(ConflictError):
        workers.beat(known, now_s=NOW_S)
    assert is_token(token, workers.get("one").token)
    assert workers.revoke("one", now_s=NOW_S + 1).revoked_s == NOW_S + 1
    assert workers.of_token(digest_of(token)) is None
    assert not is_token("", "")
    with pytest.raises(NotFoundError):
        workers.revoke("none", now_s=NOW_S)
    assert one.name in [each.name for each in workers.find()]


def test_a_worker_whose_token_was_revoked_while_it_waited_gets_nothing(engine, one, workers):
    waiting = workers.get(one.name)
    workers.revoke(one.name, now_s=NOW_S)
    placed(engine, "local")
    assert turns.take(workers, waiting, now_s=NOW_S)[0] == []
    assert [each.worker for each in workers.open()] == [""]


def test_a_worker_is_read_as_it_was_reported(workers, clock):
    one = Requests(
        workers, clock, labels=("a", "b=c"), facts={"cpu": {"model": "x\0\ud800"}}, release="1.2.3"
    )
    one.turn()
    stored = workers.get("one")
    assert stored == workers.find()[0]
    assert isinstance(stored, JoinedWorker)
    assert (stored.labels, stored.facts["cpu"]["model"], stored.beats) == (("a", "b=c"), "x\0\ud800", 1)


def test_two_workers_never_get_the_same_attempt(engine, workers, clock):
    for _ in range(40):
        placed(engine)
    requests = [Requests(workers, clock, f"w{number}", slots=10) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = [each for got in pool.map(Requests.turn, requests) for each in got]
    names = [each.name for each in found]
    assert len(names) == len(set(names)) == 40
