from anubis.model.errors import NoCapacityError
from anubis.pipeline.stage_pool import (
    HUNG_S,
    SLOW_S,
    STAGES,
    WATCHED_ROOM_S,
    WATCHES,
    WATCHES_WITH_HUNG,
    EnginePool,
    StagePool,
)
from anubis.testing import FakeThreads


def test_one_call_at_a_time_while_they_are_quick():
    pool = StagePool("stage", 4, FakeThreads())
    pool.start("first", lambda: None, 10.0)
    assert not pool.may_start(10.5)
    pool.ended("first")
    assert pool.may_start(10.5)


def test_several_calls_while_they_are_slow_up_to_the_size():
    pool = StagePool("stage", 2, FakeThreads())
    pool.start("first", lambda: None, 10.0)
    assert pool.may_start(10.0 + SLOW_S)
    pool.start("second", lambda: None, 10.0 + SLOW_S)
    assert not pool.may_start(100.0)


def test_observations_that_hang_block_no_other_up_to_a_limit():
    watches = EnginePool.of("fake", FakeThreads()).watches
    now_s = 0.0
    for number in range(WATCHES_WITH_HUNG):
        if number % WATCHES == 0 and number:
            assert not watches.may_start(now_s + SLOW_S)
            now_s += HUNG_S
        now_s += SLOW_S
        assert watches.may_start(now_s), number
        watches.start(number, lambda: None, now_s)
    assert not watches.may_start(now_s + HUNG_S)
    watches.ended(0)
    assert watches.may_start(now_s + HUNG_S)


def test_stages_that_hang_keep_their_places():
    stages = EnginePool.of("fake", FakeThreads()).stages
    for number in range(STAGES):
        stages.start(number, lambda: None, 0.0)
    assert not stages.may_start(2 * HUNG_S)


def test_a_call_whose_thread_cannot_start_occupies_no_place():
    def refuse(name, work):
        raise RuntimeError("can't start new thread")

    pool = StagePool("stage", 1, refuse)
    try:
        pool.start("first", lambda: None, 10.0)
    except RuntimeError:
        assert pool.may_start(10.0)


def test_an_engine_without_room_is_asked_again_soon_after_room_was_freed_and_seldom_later():
    pool = EnginePool.of("fake", FakeThreads())
    full = NoCapacityError("full", again_after_s=20.0)

    def waits(now_s, *, ours=False):
        pool.full(full, now_s, ours=ours)
        return round(pool.full_until_s - now_s, 3)

    assert waits(100.0) == 20.0
    assert waits(100.0, ours=True) == WATCHED_ROOM_S
    pool.freed(100.0)
    assert pool.full_until_s < 100.0
    assert [waits(100.0), waits(102.0), waits(10_000.0)] == [0.005, 0.1, 20.0]


def test_stages_and_observations_of_an_engine_do_not_wait_for_one_another():
    threads = FakeThreads()
    pool = EnginePool.of("fake", threads)
    for number in range(STAGES):
        pool.stages.start(number, lambda: None, 0.0)
    assert pool.watches.may_start(0.0)
    pool.watches.start("watch", lambda: None, 0.0)
    assert threads.names == ["stage fake"] * STAGES + ["watch fake"]
