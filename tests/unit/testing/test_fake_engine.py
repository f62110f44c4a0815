import pytest

from anubis.model.cause import Cause
from anubis.model.errors import NoCapacityError, StageError
from anubis.model.run import Seen
from anubis.testing import FakeEngine, a_placement, a_run
from anubis.testing.contracts.engine import start


def test_an_engine_has_as_much_room_as_the_test_says():
    engine = FakeEngine(room=1)
    first = start(engine, a_run(), ("true",))
    with pytest.raises(NoCapacityError):
        start(engine, a_run(), ("true",))
    engine.end(first)
    start(engine, a_run(), ("true",))


def test_trouble_comes_once():
    engine = FakeEngine()
    engine.trouble = StageError("no", cause=Cause.DATA)
    with pytest.raises(StageError):
        start(engine, a_run(), ("true",))
    placement = start(engine, a_run(), ("true",))
    assert engine.observe([placement])[placement.name].seen is Seen.RUNNING


def test_what_was_never_placed_is_lost_and_so_is_what_the_test_loses():
    engine = FakeEngine()
    placement = start(engine, a_run(), ("true",))
    engine.lose(placement)
    unknown = a_placement(a_run())
    assert {seen.seen for seen in engine.observe([placement, unknown]).values()} == {Seen.LOST}
