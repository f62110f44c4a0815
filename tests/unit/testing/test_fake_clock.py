from threading import Event

from anubis.testing import FakeClock


def test_time_passes_while_something_is_waited_for():
    clock = FakeClock(10.0)
    before_s = clock.monotonic_s()
    clock.wait(Event(), 1.5)
    clock.wait(Event(), -1.0)
    clock.advance(2.0)
    assert (clock.now_s(), clock.monotonic_s() - before_s, clock.waits) == (13.5, 3.5, [1.5, -1.0])


def test_no_time_passes_when_the_event_is_set_or_what_happens_meanwhile_sets_it():
    clock, event = FakeClock(10.0), Event()
    clock.meanwhile = event.set
    clock.wait(event, 5.0)
    assert clock.now_s() == 10.0


def test_the_wall_clock_can_be_set_without_time_passing():
    clock = FakeClock(10.0)
    before_s = clock.monotonic_s()
    clock.jump(-4.0)
    assert (clock.now_s(), clock.monotonic_s()) == (6.0, before_s)
