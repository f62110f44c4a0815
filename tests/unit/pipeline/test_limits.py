"""Limits of runs: timeouts of phases, costs, and further attempts."""

import json
from dataclasses import replace

import pytest

from anubis.contracts.datasets import FetchProgress
from anubis.contracts.records import RecordKey
from anubis.contracts.world import FixedPrices
from anubis.model.cause import Cause
from anubis.model.descriptor import Data, Limits
from anubis.model.errors import NoCapacityError, NotReadyError, StageError
from anubis.model.hardware import NO_PRICES, UNKNOWN, Cost, Hardware, Prices, total
from anubis.model.run import CANCEL_EVENT, Event, Observation, Seen
from anubis.model.server import DataSource
from anubis.model.status import Phase, Status
from anubis.testing import a_descriptor, a_run
from anubis.testing.builders import NOW_S

PRICES = Prices(currency="USD", machines={"local": 36.0, "big": 360.0}, hosts={"gold": 3600.0})


def limited(max_cost=None, max_wait_s=None, **limits):
    hardware = Hardware(instance_type="local", max_cost=max_cost, max_wait_s=max_wait_s)
    return a_run(a_descriptor(hardware=hardware, limits=Limits(**limits)))


def add(house, *runs):
    house.runs.add([(run, "text") for run in runs], [])


def turn(reconciler, house, times=1):
    for _ in range(times):
        house.clock.advance(1.0)
        reconciler.held.keeper.turn()
        reconciler.turn()
        while house.threads.run():
            reconciler.turn()


def priced(house, new_reconciler, prices=PRICES):
    """A reconciler of an installation with these prices."""
    reconciler = new_reconciler("one")
    reconciler.world = replace(house.world, prices=FixedPrices(prices))
    return reconciler


def ends(house, run):
    """The status and the cause of a run."""
    stored = house.runs.get(run.id)
    return stored.status, stored.cause


def test_a_run_that_takes_too_long_is_stopped_and_keeps_its_record(house, reconciler, leave_record):
    add(house, run := limited(run_timeout_s=60))
    turn(reconciler, house, times=55)
    assert house.runs.get(run.id).status is Status.WATCH
    leave_record(run, code=None, cause="cancelled", reason="cancelled")
    turn(reconciler, house, times=15)
    stored = house.runs.get(run.id)
    assert (stored.status, stored.cause) == (Status.FAILED, Cause.RUN_TIMEOUT)
    assert "60 s" in stored.reason
    kinds = [event.kind for event in house.events.read(run.id)]
    assert (kinds[:3], kinds[-1]) == (["placed", "stopped", "ended"], "final")


def test_a_success_in_the_moment_of_the_stop_counts(house, reconciler, leave_record):
    add(house, run := limited(run_timeout_s=60))
    turn(reconciler, house, times=5)
    leave_record(run)
    turn(reconciler, house, times=70)
    assert ends(house, run) == (Status.SUCCEEDED, None)


def test_a_driver_that_dies_neither_ends_nor_extends_the_time_of_a_run(house, new_reconciler):
    add(house, run := limited(run_timeout_s=60))
    first, second = new_reconciler("first"), new_reconciler("second")
    turn(first, house, times=30)
    first.close()
    house.clock.advance(20.0)
    turn(second, house, times=5)
    assert house.runs.get(run.id).cause is None
    turn(second, house, times=10)
    assert house.runs.get(run.id).cause is Cause.RUN_TIMEOUT


@pytest.mark.parametrize("jump_s", [-3600.0, 3600.0])
def test_a_wall_clock_that_jumps_stops_no_run(house, reconciler, jump_s):
    add(house, run := limited(run_timeout_s=60))
    turn(reconciler, house, times=5)
    house.clock.jump(jump_s)
    turn(reconciler, house, times=50)
    assert house.runs.get(run.id).cause is None
    turn(reconciler, house, times=15)
    assert house.runs.get(run.id).cause is Cause.RUN_TIMEOUT


def test_the_time_in_the_queue_of_an_engine_is_not_the_time_of_the_run(house, reconciler):
    add(house, run := limited(run_timeout_s=30, max_wait_s=90))
    turn(reconciler, house)
    name = house.runs.get(run.id).placement.name
    house.engine.seen[name] = Observation(seen=Seen.WAITING, reason="in the queue")
    turn(reconciler, house, times=60)
    assert house.runs.get(run.id).phase is Phase.QUEUE
    house.engine.seen[name] = Observation(seen=Seen.RUNNING)
    turn(reconciler, house, times=25)
    assert (house.runs.get(run.id).phase, house.runs.get(run.id).cause) == (Phase.RUN, None)
    turn(reconciler, house, times=10)
    assert house.runs.get(run.id).cause is Cause.RUN_TIMEOUT


def test_a_machine_that_is_prepared_for_too_long_ends_the_run(house, reconciler, monkeypatch):
    add(house, run := limited(start_timeout_s=30, max_wait_s=1000))
    errors = [NoCapacityError("full", again_after_s=1.0)] * 20
    errors += [NotReadyError("pulling the image", again_after_s=1.0)] * 100

    def place(self, *_):
        raise errors.pop(0)

    monkeypatch.setattr(type(house.engine), "place", place)
    turn(reconciler, house, times=40)
    assert (house.runs.get(run.id).phase, house.runs.get(run.id).status) == (Phase.START, Status.PLACE)
    turn(reconciler, house, times=30)
    assert ends(house, run) == (Status.FAILED, Cause.START_TIMEOUT)


def test_data_that_are_fetched_for_too_long_end_the_run(house, reconciler, monkeypatch):
    source = DataSource(src="file:///data", path="/data")
    descriptor = a_descriptor(limits=Limits(fetch_timeout_s=30), data=Data(sources=(source,)))
    add(house, run := a_run(descriptor))
    slow = FetchProgress(done_bytes=1, size_bytes=100)
    monkeypatch.setattr(type(house.world.datasets), "fetch", lambda *_, **__: slow)
    turn(reconciler, house, times=20)
    assert house.runs.get(run.id).status is Status.FETCH
    turn(reconciler, house, times=15)
    assert ends(house, run) == (Status.FAILED, Cause.FETCH_TIMEOUT)


def test_a_lost_run_is_repeated_after_a_pause_that_doubles(house, reconciler):
    add(house, run := limited(retries=2, retry_pause_s=20))
    for pause_s in (20, 40):
        turn(reconciler, house)
        house.engine.lose(house.runs.get(run.id).placement)
        turn(reconciler, house, times=3)
        assert house.runs.get(run.id).status is Status.FETCH
        turn(reconciler, house, times=pause_s - 6)
        assert house.runs.get(run.id).status is Status.FETCH
        turn(reconciler, house, times=8)
        assert house.runs.get(run.id).status is Status.WATCH
    house.engine.lose(house.runs.get(run.id).placement)
    turn(reconciler, house, times=3)
    assert ends(house, run) == (Status.FAILED, Cause.LOST)
    assert house.runs.get(run.id).attempt == 3
    assert [e.data["pause_s"] for e in house.events.read(run.id) if e.kind == "retried"] == [20, 40]


def test_the_pause_holds_although_room_becomes_free(house, reconciler, leave_record):
    house.engine.room = 2
    add(house, lost := limited(retries=1, retry_pause_s=60), other := a_run())
    turn(reconciler, house)
    house.engine.lose(house.runs.get(lost.id).placement)
    turn(reconciler, house, times=2)
    leave_record(other)
    house.engine.end(house.runs.get(other.id).placement)
    turn(reconciler, house, times=20)
    assert (house.runs.get(lost.id).status, house.runs.get(lost.id).attempt) == (Status.FETCH, 2)


def test_only_the_causes_of_the_list_are_repeated(house, reconciler, leave_record):
    add(house, run := limited(retries=1, retry_on=(Cause.USER_ERROR,), retry_pause_s=0))
    turn(reconciler, house)
    leave_record(run, code=1, cause="user_error", reason="exit code 1")
    house.engine.end(house.runs.get(run.id).placement, exit_code=1)
    turn(reconciler, house, times=3)
    assert house.runs.get(run.id).attempt == 2
    house.engine.lose(house.runs.get(run.id).placement)
    turn(reconciler, house, times=3)
    assert ends(house, run) == (Status.FAILED, Cause.LOST)


def test_a_failure_to_place_is_repeated_too(house, reconciler):
    add(house, run := limited(retries=1, retry_pause_s=5))
    house.engine.trouble = StageError("no network", cause=Cause.IMAGE_PULL)
    turn(reconciler, house)
    assert (house.runs.get(run.id).status, house.runs.get(run.id).attempt) == (Status.FETCH, 2)
    turn(reconciler, house, times=8)
    assert house.runs.get(run.id).status is Status.WATCH


def test_a_cancelled_run_is_not_repeated(house, reconciler):
    add(house, run := limited(retries=5, retry_pause_s=60))
    turn(reconciler, house)
    house.engine.lose(house.runs.get(run.id).placement)
    turn(reconciler, house, times=3)
    house.runs.request_cancel([run.id], [])
    turn(reconciler, house, times=3)
    assert ends(house, run) == (Status.CANCELLED, Cause.CANCELLED)


def test_a_request_to_cancel_with_a_cause_is_the_cause_of_the_end(house, reconciler, leave_record):
    add(house, run := a_run())
    turn(reconciler, house)
    asked = Event(
        run_id=run.id, kind=CANCEL_EVENT, time_s=NOW_S, message="spent", data={"cause": Cause.BUDGET.value}
    )
    house.runs.request_cancel([run.id], [asked])
    leave_record(run, code=None, cause="cancelled", reason="cancelled")
    turn(reconciler, house, times=4)
    stored = house.runs.get(run.id)
    assert (stored.status, stored.cause, stored.reason) == (Status.CANCELLED, Cause.BUDGET, "spent")


def leave_facts(house, run, host="here", started_s=NOW_S, attempt=1):
    facts = {"fingerprint": "machine", "hostname": host, "started_s": started_s}
    house.world.records.replace(RecordKey(run.id, attempt), "facts.json", json.dumps(facts).encode())


@pytest.mark.parametrize(("host", "amount"), [("here", 0.2), ("gold", 20.0)])
def test_a_run_costs_the_time_of_its_agent(house, new_reconciler, leave_record, host, amount):
    reconciler = priced(house, new_reconciler)
    add(house, run := a_run())
    turn(reconciler, house)
    leave_record(run, started_s=NOW_S, ended_s=NOW_S + 20)
    leave_facts(house, run, host)
    house.engine.end(house.runs.get(run.id).placement)
    turn(reconciler, house, times=30)
    cost = house.runs.get(run.id).cost
    assert (cost.amount, cost.currency) == (pytest.approx(amount), "USD")


def test_a_machine_without_a_price_has_an_unknown_cost(house, new_reconciler, leave_record):
    reconciler = priced(house, new_reconciler, Prices(currency="USD", machines={"big": 1.0}))
    add(house, run := a_run())
    turn(reconciler, house)
    leave_record(run, started_s=NOW_S, ended_s=NOW_S + 20)
    house.engine.end(house.runs.get(run.id).placement)
    turn(reconciler, house, times=3)
    assert house.runs.get(run.id).cost == UNKNOWN


def test_without_a_price_table_there_is_no_cost(house, new_reconciler, leave_record):
    reconciler = priced(house, new_reconciler, NO_PRICES)
    add(house, run := a_run())
    turn(reconciler, house)
    leave_record(run, started_s=NOW_S, ended_s=NOW_S + 20)
    house.engine.end(house.runs.get(run.id).placement)
    turn(reconciler, house, times=3)
    ended = house.runs.get(run.id)
    assert (ended.status.final, ended.cost) == (True, None)


def test_every_attempt_costs(house, new_reconciler, leave_record):
    reconciler = priced(house, new_reconciler)
    add(house, run := limited(retries=1, retry_pause_s=0))
    for attempt in (1, 2):
        turn(reconciler, house, times=3)
        now = house.runs.get(run.id)
        assert now.attempt == attempt
        leave_record(now, started_s=NOW_S, ended_s=NOW_S + 10, code=None, cause="lost", reason="gone")
        leave_facts(house, now, attempt=attempt)
        house.engine.end(now.placement)
        turn(reconciler, house, times=2)
    assert house.runs.get(run.id).cost == Cost(amount=pytest.approx(0.2), currency="USD")


def test_a_run_that_was_never_placed_has_no_cost(house, reconciler):
    house.engine.room = 0
    add(house, run := limited(max_wait_s=5))
    turn(reconciler, house, times=10)
    assert (house.runs.get(run.id).cause, house.runs.get(run.id).cost) == (Cause.NO_CAPACITY, None)


def test_a_run_is_stopped_when_it_has_cost_its_maximum(house, new_reconciler, leave_record):
    reconciler = priced(house, new_reconciler)
    add(house, run := limited(max_cost="0.60 USD"))  # 60 s
    turn(reconciler, house)
    leave_facts(house, run)
    turn(reconciler, house, times=50)
    assert house.runs.get(run.id).cause is None
    leave_record(run, code=None, cause="cancelled", reason="cancelled", started_s=NOW_S, ended_s=NOW_S + 61)
    leave_facts(house, run)
    turn(reconciler, house, times=15)
    assert ends(house, run) == (Status.FAILED, Cause.MAX_COST)
    assert house.runs.get(run.id).cost.amount == pytest.approx(0.61)


def test_a_limit_in_another_currency_stops_the_run(house, new_reconciler):
    reconciler = priced(house, new_reconciler)
    add(house, run := limited(max_cost="5 EUR"))
    turn(reconciler, house)
    leave_facts(house, run)
    turn(reconciler, house, times=2)
    stored = house.runs.get(run.id)
    assert (stored.cause, "EUR is not known" in stored.reason) == (Cause.MAX_COST, True)


def test_unknown_costs_are_counted_and_not_added():
    usd = Cost(amount=1.0, currency="USD")
    assert total([usd, None, UNKNOWN, usd]) == (Cost(amount=2.0, currency="USD"), 1)
    assert total([None]) == (None, 0)
    assert total([UNKNOWN, usd]) == (usd, 1)
    assert total([usd, Cost(amount=1.0, currency="EUR")]) == (usd, 1)
