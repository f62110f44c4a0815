"""Random interleavings of two reconcilers, a user and a clock that jumps: the database and the fake say the same."""

import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from anubis.model.cause import Cause
from anubis.model.errors import LeaseLostError
from anubis.model.identity import in_project
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.store import open_store
from anubis.testing import (
    FakeClock,
    FakeStore,
    a_descriptor,
    a_placement,
    a_point,
    a_run,
    an_event,
    samples_of,
)
from anubis.testing.contracts.leases import make_projects

LEASE_S = 30.0
OWNERS = st.sampled_from(["one", "two"])
CHOICE = st.integers(0, 99)


class Interleavings(RuleBasedStateMachine):
    @initialize()
    def open(self):
        self.folder = tempfile.TemporaryDirectory()
        self.fake = FakeStore()
        self.real = open_store(f"sqlite:///{Path(self.folder.name, 'anubis.db')}")
        for store in (self.fake, self.real):
            make_projects(store, {"p": 3.0}, {"p": 2})
        self.clock = FakeClock()
        self.runs = []
        #: What each owner believes it holds, which may be out of date.
        self.believed = {"one": {}, "two": {}}
        #: Run -> (owner, end of the lease), kept independently of both stores.
        self.held = {}
        self.finals = {}

    def teardown(self):
        self.real.close()
        self.folder.cleanup()

    def both(self, ask):
        fake, real = ask(self.fake), ask(self.real)
        assert fake == real
        return real

    def some(self, choice):
        return [run for i, run in enumerate(self.runs) if (choice >> (i % 6)) & 1]

    @rule(
        priority=st.integers(-1, 2),
        wait_s=st.sampled_from([0, 0, 10, 100]),
        name=st.sampled_from("ab"),
        project=st.sampled_from(["default", "p"]),
    )
    def submit(self, priority, wait_s, name, project):
        now_s = self.clock.now_s()
        run = a_run(a_descriptor(name, priority=priority), created_s=now_s, due_s=now_s + wait_s)
        run = in_project(run, project)
        self.runs.append(run.id)
        self.both(lambda store: store.runs.add([(run, name)], [an_event(run, "submitted", time_s=now_s)]))

    @rule(owner=OWNERS, limit=st.integers(1, 3))
    def claim(self, owner, limit):
        now_s = self.clock.now_s()
        claimed = self.both(
            lambda store: list(store.leases.claim(owner, now_s=now_s, lease_s=LEASE_S, limit=limit))
        )
        for run in claimed:
            holder, until_s = self.held.get(run.id, ("", 0.0))
            assert until_s <= now_s, f"{owner} got a run that {holder} holds"
            assert not run.status.final
            assert run.due_s <= now_s
            self.held[run.id] = (owner, now_s + LEASE_S)
            self.believed[owner][run.id] = run

    @rule(owner=OWNERS, choice=CHOICE)
    def renew(self, owner, choice):
        now_s = self.clock.now_s()
        ids = self.some(choice)
        kept = self.both(lambda store: dict(store.leases.renew(owner, ids, now_s=now_s, lease_s=LEASE_S)))
        assert set(kept) == {run_id for run_id in ids if self.held.get(run_id, ("",))[0] == owner}
        self.held |= dict.fromkeys(kept, (owner, now_s + LEASE_S))

    @rule(owner=OWNERS, choice=st.none() | CHOICE)
    def release(self, owner, choice):
        ids = None if choice is None else self.some(choice)
        self.both(lambda store: store.leases.release(owner, ids))
        for run_id in list(self.held) if ids is None else ids:
            if self.held.get(run_id, ("",))[0] == owner:
                del self.held[run_id]

    @rule(
        owner=OWNERS,
        choice=CHOICE,
        status=st.sampled_from([*Status, Status.WATCH, Status.COLLECT]),
        again_after_s=st.sampled_from([0.0, 5.0, 200.0]),
        what=st.sets(st.sampled_from(["event", "point", "samples", "placement", "attempt", "cause"])),
    )
    def apply(self, owner, choice, status, again_after_s, what):
        if not self.believed[owner]:
            return
        run = sorted(self.believed[owner].values(), key=lambda run: run.id)[
            choice % len(self.believed[owner])
        ]
        now_s = self.clock.now_s()
        step = Step(
            status=status,
            again_after_s=again_after_s,
            events=(an_event(run, status, actor=owner, time_s=now_s),) if "event" in what else (),
            points=(a_point(run, value=float(choice)),) if "point" in what else (),
            samples=(samples_of([float(choice)] * (choice % 3)),) if "samples" in what else (),
            placement=a_placement(run, choice=choice) if "placement" in what else None,
            cause=Cause.PREEMPTED if "cause" in what else None,
            next_attempt="attempt" in what,
            reason=owner,
        )

        def attempt(store):
            try:
                return store.leases.apply(owner, run, step, now_s=now_s)
            except LeaseLostError:
                return None

        after = self.both(attempt)
        assert (after is not None) == (self.held.get(run.id, ("",))[0] == owner)
        if after is None or after.status.final:
            del self.believed[owner][run.id]
        if after is not None:
            assert run.id not in self.finals, "a final run was written again"
            if after.status.final:
                self.finals[run.id] = after.status
                del self.held[run.id]
            else:
                self.believed[owner][run.id] = after

    @rule(choice=CHOICE)
    def cancel(self, choice):
        ids = self.some(choice)
        events = [replace(an_event(a_run(id=run_id), "cancel_requested"), time_s=0.0) for run_id in ids]
        self.both(lambda store: list(store.runs.request_cancel(ids, events)))

    @rule(choice=CHOICE)
    def remove(self, choice):
        ids = self.some(choice)
        self.both(lambda store: store.runs.remove(ids))
        self.runs = [run_id for run_id in self.runs if run_id not in ids or run_id not in self.finals]

    @rule(seconds=st.sampled_from([0.5, 5.0, LEASE_S, 300.0]))
    def let_time_pass(self, seconds):
        self.clock.advance(seconds)

    @rule()
    def crash(self):
        """Everybody forgets what they held; the leases remain."""
        self.believed = {"one": {}, "two": {}}

    @invariant()
    def nothing_is_lost_and_both_agree(self):
        runs = {
            run_id: self.both(lambda store, run_id=run_id: store.runs.get(run_id)) for run_id in self.runs
        }
        assert {run_id: run.status for run_id, run in runs.items() if run.status.final} == {
            run_id: status for run_id, status in self.finals.items() if run_id in runs
        }
        self.both(lambda store: store.runs.unfinished())
        self.both(lambda store: store.leases.owners())
        self.both(lambda store: store.points.of(self.runs))
        self.both(lambda store: [store.points.summaries(run_id) for run_id in self.runs])
        seqs = [event.seq for event in self.both(lambda store: list(store.events.read()))]
        assert seqs == sorted(set(seqs))
        for owner in ("one", "two"):
            self.both(lambda store, owner=owner: sorted(store.leases.cancelled(owner)))


Interleavings.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow],
)
TestInterleavings = Interleavings.TestCase
