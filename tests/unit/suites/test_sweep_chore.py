"""Drivers of sweeps: what they submit, in the presence of others, limits, rules and changes."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from anubis import describe
from anubis.contracts.runs import RunQuery
from anubis.contracts.sweeps import Sweep, SweepPhase
from anubis.model.cause import Cause
from anubis.model.errors import BadInputError
from anubis.model.hardware import UNKNOWN, Cost
from anubis.model.ids import new_run_id
from anubis.model.run import Observation, Seen, Step
from anubis.model.status import Status
from anubis.pipeline.stages.place import place
from anubis.suites import sweep_actions
from anubis.suites.sweep_cells import SweepCells, run_id_of
from anubis.suites.sweep_chore import AHEAD, PAUSE_S, SweepChore
from anubis.testing.builders import a_placement

TEXT = """
[info]
name = "sweep"
execution_engine = "fake"
[ml]
benchmark_code = "true"
[matrix]
"env.vars.A" = {{ from = 1, to = {count}, step = 1 }}
[sweep]
{rules}
"""


def a_sweep(world, *, count=5, rules=""):
    text = TEXT.format(count=count, rules=rules)
    descriptor = describe.read(text).descriptor
    sweep = Sweep(
        id=new_run_id(), owner="me", created_s=world.clock.now_s(), descriptor=descriptor, text=text, cells=()
    )
    return sweep_actions.start(world, replace(sweep, cells=SweepCells(sweep).digests()))


@pytest.fixture
def sweeps(house):
    """The chore of one process, and what tests do to the runs."""
    world = house.world

    def rows():
        return world.runs.find(RunQuery(limit=1000, newest_first=False))

    def place(row):
        (run,) = [run for run in claimed() if run.id == row.id]
        step = Step(status=Status.WATCH, placement=a_placement(run))
        world.leases.apply("me", run, step, now_s=house.clock.now_s())

    def end(row, status=Status.SUCCEEDED, cause=None, cost=None):
        apply(row, Step(status=status, cause=cause, reason="because" if cause else "", cost=cost))

    def apply(row, step):
        house.clock.advance(1)
        (run,) = [run for run in claimed() if run.id == row.id]
        world.leases.apply("me", run, step, now_s=house.clock.now_s())

    def claimed():
        world.leases.claim("me", now_s=house.clock.now_s(), lease_s=1000, limit=1000)
        return [world.runs.get(row.id) for row in rows() if not row.status.final]

    def start(**options):
        return a_sweep(world, **options)

    return SimpleNamespace(
        world=world,
        clock=house.clock,
        chore=SweepChore(world),
        rows=rows,
        place=place,
        end=end,
        apply=apply,
        start=start,
    )


def test_without_a_sweep_nothing_is_outstanding(sweeps):
    assert sweeps.chore.turn() is None
    assert sweeps.chore.running == frozenset()


def test_a_sweep_is_submitted_in_order_and_ends_with_its_last_run(sweeps):
    sweep = sweeps.start(count=3)
    assert sweeps.chore.turn() == PAUSE_S
    assert [row.cell for row in sweeps.rows()] == [{"env.vars.A": text} for text in "123"]
    assert {row.family_id for row in sweeps.rows()} == {sweep.id}
    for row in sweeps.rows():
        sweeps.end(row)
    assert sweeps.chore.turn() is None
    assert sweeps.world.sweeps.get(sweep.id).phase is SweepPhase.ENDED
    assert sweeps.world.environments.handed_over(sweep.id) is None


def test_no_more_cells_are_in_progress_than_the_limit_permits(sweeps):
    sweeps.start(rules="max_parallel = 2")
    sweeps.chore.turn()
    assert len(sweeps.rows()) == 2
    sweeps.chore.turn()
    assert len(sweeps.rows()) == 2
    sweeps.end(sweeps.rows()[0])
    sweeps.chore.turn()
    assert len(sweeps.rows()) == 3


def test_a_large_sweep_is_submitted_little_by_little(sweeps):
    sweeps.start(count=AHEAD + 10)
    sweeps.chore.turn()
    assert len(sweeps.rows()) == AHEAD


def with_queue(world):
    """Let the engine have a queue; returns it."""
    engine = world.engines["fake"]
    engine.capabilities = replace(engine.capabilities, queue=True)
    return engine


def test_an_engine_with_a_queue_gets_all_cells_and_the_limit(sweeps):
    engine = with_queue(sweeps.world)
    sweeps.start(count=AHEAD + 10, rules="max_parallel = 3")
    sweeps.chore.turn()
    assert len(sweeps.rows()) == AHEAD + 10
    run = sweeps.world.runs.get(sweeps.rows()[0].id)
    place(run, sweeps.world, 0.0)
    (launch,) = engine.launches.values()
    assert launch.at_once == 3


def test_a_sweep_that_stops_leaves_nothing_in_the_queue_of_its_engine(sweeps):
    engine = with_queue(sweeps.world)
    sweeps.start(count=4, rules="stop_after = 1")
    sweeps.chore.turn()
    failed, running, queued, _ = sweeps.rows()
    for row, seen in ((running, Seen.RUNNING), (queued, Seen.WAITING)):
        step = place(sweeps.world.runs.get(row.id), sweeps.world, 0.0)
        sweeps.apply(row, step)
        engine.seen[step.placement.name] = Observation(seen=seen)
    sweeps.end(failed, Status.FAILED, Cause.USER_ERROR)
    assert sweeps.chore.turn() is None
    asked = [sweeps.world.runs.get(row.id).cancel_requested for row in sweeps.rows()[1:]]
    assert asked == [False, True, True]


def test_two_processes_submit_every_cell_once(sweeps):
    sweeps.start(rules="max_parallel = 3")
    other = SweepChore(sweeps.world)
    sweeps.chore.turn()
    other.turn()
    for turn in (other.turn, sweeps.chore.turn, sweeps.chore.turn, other.turn) * 3:
        unfinished = [row for row in sweeps.rows() if not row.status.final]
        assert len(unfinished) <= 3
        if unfinished:
            sweeps.end(unfinished[-1])
        turn()
    cells = [row.cell["env.vars.A"] for row in sweeps.rows()]
    assert sorted(cells) == list("12345")


def test_a_process_that_dies_between_the_sweep_and_its_runs_loses_nothing(sweeps):
    sweep = sweeps.start(count=4)
    sweep_actions.add_runs(sweeps.world, SweepCells(sweep), [0, 1])  # and the process is gone
    sweeps.chore.turn()
    assert len(sweeps.rows()) == 4


def test_the_first_cells_that_fail_alike_stop_the_sweep(sweeps):
    sweep = sweeps.start(rules="stop_after = 2\nmax_parallel = 3")
    sweeps.chore.turn()
    for row in sweeps.rows()[:2]:
        sweeps.end(row, Status.FAILED, Cause.COMMAND_NOT_FOUND)
    assert sweeps.chore.turn() is None
    stored = sweeps.world.sweeps.get(sweep.id)
    assert stored.phase is SweepPhase.STOPPED
    assert stored.reason == "the first 2 cells failed with cause command_not_found: because"
    assert len(sweeps.rows()) == 3
    assert sweeps.world.runs.get(sweeps.rows()[2].id).cancel_requested


@pytest.mark.parametrize(
    ("rules", "ends"),
    [
        ("stop_after = 2", [Cause.LOST, Cause.TIMEOUT]),
        ("stop_after = 2", [None, Cause.LOST, Cause.LOST]),
        ("stop_after = 0", [Cause.LOST, Cause.LOST, Cause.LOST]),
        ("stop_after = 3", [Cause.LOST, Cause.LOST]),
    ],
)
def test_other_failures_do_not_stop_it(sweeps, rules, ends):
    sweep = sweeps.start(rules=rules)
    sweeps.chore.turn()
    for row, cause in zip(sweeps.rows(), ends, strict=False):
        sweeps.end(row, Status.FAILED if cause else Status.SUCCEEDED, cause)
    assert sweeps.chore.turn() == PAUSE_S
    assert sweeps.world.sweeps.get(sweep.id).phase is SweepPhase.RUNNING


def test_resume_after_a_stop_repeats_what_failed_under_new_ids(sweeps):
    sweep = sweeps.start(count=2, rules="stop_after = 1\nmax_parallel = 1")
    sweeps.chore.turn()
    sweeps.end(sweeps.rows()[0], Status.FAILED, Cause.USER_ERROR)
    sweeps.chore.turn()
    resumed = sweep_actions.resume(sweeps.world, sweeps.world.sweeps.get(sweep.id))
    assert resumed.tries == {"0": 2}
    assert run_id_of(resumed, 0) != run_id_of(sweep, 0)
    sweeps.chore.turn()
    assert [row.cell for row in sweeps.rows()] == [{"env.vars.A": "1"}, {"env.vars.A": "1", "try": 2}]


def test_resume_leaves_a_running_sweep_as_it_is(sweeps):
    sweep = sweeps.start(count=2)
    sweeps.chore.turn()
    running = sweeps.world.sweeps.get(sweep.id)
    assert sweep_actions.resume(sweeps.world, running) == running
    assert sweeps.world.sweeps.get(sweep.id) == running


def test_resume_repeats_a_run_whose_cancellation_is_not_complete(sweeps):
    sweep = sweeps.start(count=2, rules="max_parallel = 2")
    sweeps.chore.turn()
    paused = sweep_actions.leave(sweeps.world, sweeps.world.sweeps.get(sweep.id), SweepPhase.PAUSED)
    assert sweep_actions.resume(sweeps.world, paused).tries == {"0": 2, "1": 2}
    sweeps.chore.turn()
    waiting = [row.cell for row in sweeps.rows() if not sweeps.world.runs.get(row.id).cancel_requested]
    assert [cell["try"] for cell in waiting] == [2, 2]


def test_a_sweep_that_another_process_leaves_gets_no_further_run(sweeps):
    sweep = sweeps.start(rules="max_parallel = 2")
    sweeps.chore.turn()
    left = sweeps.world.sweeps.get(sweep.id)
    sweeps.world.sweeps.put(replace(left, phase=SweepPhase.PAUSED))
    assert sweeps.chore.turn() is None
    assert len(sweeps.rows()) == 2
    assert all(sweeps.world.runs.get(row.id).cancel_requested for row in sweeps.rows())


def test_a_cell_that_is_no_longer_what_was_planned_stops_the_sweep(sweeps):
    sweep = sweeps.start()
    sweeps.world.sweeps.put(replace(sweep, cells=("0" * 64, *sweep.cells[1:])))
    assert sweeps.chore.turn() is None
    stored = sweeps.world.sweeps.get(sweep.id)
    assert stored.phase is SweepPhase.STOPPED
    assert "no longer what was planned" in stored.reason
    assert sweeps.rows() == []


def test_a_sweep_stops_when_its_time_is_spent_and_ends_cells_in_progress(sweeps):
    sweep = sweeps.start(rules="max_parallel = 2\nmax_run_s = 100", count=9)
    sweeps.chore.turn()
    first, second = sweeps.rows()
    sweeps.place(first)
    sweeps.clock.advance(101)
    assert sweeps.chore.turn() is None
    stopped = sweeps.world.sweeps.get(sweep.id)
    assert (stopped.phase, stopped.cause) == (SweepPhase.STOPPED, Cause.BUDGET)
    assert "101" in stopped.reason
    for row in (first, second):
        run = sweeps.world.runs.get(row.id)
        assert run.cancel_requested
        assert sweeps.world.events.read(row.id)[-1].data == {"cause": "budget"}
    assert len(sweeps.rows()) == 2


def test_a_sweep_stops_when_its_money_is_spent(sweeps):
    sweep = sweeps.start(rules='max_parallel = 1\nmax_cost = "1.5 USD"')
    for count in (1, 2):
        assert sweeps.chore.turn() is not None
        assert len(sweeps.rows()) == count
        sweeps.end(sweeps.rows()[-1], cost=Cost(amount=1.0, currency="USD"))
    assert sweeps.chore.turn() is None
    stopped = sweeps.world.sweeps.get(sweep.id)
    assert (stopped.cause, stopped.reason) == (Cause.BUDGET, "the cells have cost 2 of 1.5 USD")
    with pytest.raises(BadInputError, match=r"2 of 1\.5 USD"):
        sweep_actions.resume(sweeps.world, stopped)


def test_a_cell_of_unknown_cost_stops_a_sweep_with_a_maximum_cost(sweeps):
    sweep = sweeps.start(rules='max_parallel = 1\nmax_cost = "1.5 USD"')
    sweeps.chore.turn()
    sweeps.end(sweeps.rows()[-1], cost=UNKNOWN)
    assert sweeps.chore.turn() is None
    assert "unknown" in sweeps.world.sweeps.get(sweep.id).reason
