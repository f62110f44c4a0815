"""Leases are renewed while they are certain, and lost by the monotonic clock."""

import pytest

from anubis.model.errors import StoreError
from anubis.pipeline.lease_keeper import LeaseKeeper
from anubis.testing import FakeClock, FakeStore, a_run

LEASE_S = 30.0


class Office:
    """One keeper with one claimed run."""

    def __init__(self):
        self.store, self.clock = FakeStore(), FakeClock()
        self.run = a_run()
        self.rings = []
        self.store.runs.add([(self.run, "text")], [])
        self.keeper = LeaseKeeper(
            self.store.leases, "me", self.clock, lease_s=LEASE_S, lost=lambda: self.rings.append("lost")
        )
        self.claim("me")
        self.keeper.hold(self.run.id, self.clock.monotonic_s())

    def claim(self, owner):
        return self.store.leases.claim(owner, now_s=self.clock.now_s(), lease_s=LEASE_S, limit=1)

    def keep_for(self, waits):
        """Run the keeper's thread for so many waits."""
        left = iter(range(waits))
        self.clock.meanwhile = lambda: next(left, None) is None and self.keeper.stop()
        self.keeper.keep()


@pytest.fixture
def office():
    return Office()


def test_a_lease_is_renewed_for_as_long_as_it_is_held(office):
    office.keep_for(30)

    assert office.clock.monotonic_s() - 1000.0 > 5 * LEASE_S
    assert office.keeper.holds(office.run.id)
    assert office.claim("another") == []


def test_a_lease_that_was_dropped_is_not_renewed(office):
    office.keeper.drop(office.run.id)

    office.keep_for(4)

    assert not office.keeper.holds(office.run.id)
    assert len(office.claim("another")) == 1


def test_a_lease_that_another_owner_took_is_lost_at_the_next_renewal(office):
    office.store.leases.release("me")
    office.claim("another")

    office.keeper.turn()

    assert office.rings == ["lost"]
    assert not office.keeper.holds(office.run.id)
    assert office.keeper.lost() == [office.run.id]
    assert office.keeper.lost() == []


def test_a_lease_runs_out_by_the_monotonic_clock_alone(office):
    office.clock.jump(86_400.0)
    assert office.keeper.holds(office.run.id)
    office.clock.jump(-2 * 86_400.0)
    office.clock.advance(LEASE_S)

    assert not office.keeper.holds(office.run.id)


def test_a_lease_that_ran_out_is_not_renewed_any_more(office):
    """Its run was given up: a renewal would keep it from everybody."""
    office.clock.advance(LEASE_S)

    office.keeper.turn()

    assert office.keeper.lost() == [office.run.id]
    assert len(office.claim("another")) == 1


def test_a_renewal_counts_from_the_moment_at_which_it_was_asked_for(office, monkeypatch):
    renew = office.store.leases.renew

    def slow_renew(*args, **options):
        office.clock.advance(25.0)
        return renew(*args, **options)

    monkeypatch.setattr(office.store.leases, "renew", slow_renew)
    office.keeper.turn()
    office.clock.advance(5.0)

    assert not office.keeper.holds(office.run.id)


@pytest.mark.parametrize("error", [StoreError("away"), RuntimeError("a defect")])
def test_renewing_is_tried_again_after_an_error(office, monkeypatch, error):
    renew, errors = office.store.leases.renew, [error, error]

    def failing(*args, **options):
        if errors:
            raise errors.pop()
        return renew(*args, **options)

    monkeypatch.setattr(office.store.leases, "renew", failing)
    office.keep_for(4)

    assert office.clock.waits == [10.0, 1.0, 1.0, 10.0, 10.0]
    assert office.keeper.holds(office.run.id)
