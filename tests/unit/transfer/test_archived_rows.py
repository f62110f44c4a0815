"""What an import makes of the rows of an archive: nothing of them decides anything here."""

from dataclasses import replace

import pytest

from anubis.model.alert import AlertKind
from anubis.model.descriptor import Notify
from anubis.model.hardware import Cost
from anubis.model.identity import digest, series_key
from anubis.model.run import CROSSED_EVENT
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_descriptor, a_placement, a_point, a_run, an_event
from anubis.transfer.archived_rows import IMPORTED_EVENT, imported_event, imported_run, problems

FAMILY = "018bcfe5-6800-7000-8000-000000000000"
NOTIFIED = a_descriptor(notify=(Notify(to="https://elsewhere.example", on=tuple(AlertKind)),))
RUN = a_run(NOTIFIED, status=Status.SUCCEEDED)


def test_receivers_of_an_archive_are_removed():
    run = imported_run(RUN)
    assert run.descriptor.notify == ()
    assert run.digest == digest(run.descriptor) != RUN.digest
    assert run.series_key == series_key(run.descriptor) == RUN.series_key


def test_the_families_of_archives_are_apart_and_stay_together():
    first, second = (imported_run(replace(a_run(), family_id=FAMILY)) for _ in range(2))
    assert first.family_id == second.family_id != FAMILY
    assert imported_run(a_run()).family_id is None


def test_a_placement_is_not_believed():
    run = replace(RUN, placement=a_placement(RUN, pid=1), cancel_requested=True, due_s=NOW_S + 1e9)
    imported = imported_run(run)
    assert (imported.placement, imported.cancel_requested, imported.due_s) == (None, False, RUN.created_s)


@pytest.mark.parametrize(
    ("amount", "currency", "is_valid"),
    [
        (1.5, "USD", True),
        (None, "", True),
        (None, "USD", False),
        (-1.0, "USD", False),
        (float("inf"), "USD", False),
        (float("nan"), "USD", False),
        (1.0, "dollars", False),
        (1.0, "", False),
    ],
)
def test_a_cost_is_an_amount_with_a_currency_or_unknown(amount, currency, is_valid):
    run = replace(RUN, cost=Cost(amount=amount, currency=currency))
    assert (not list(problems(run, (), ()))) is is_valid


def test_events_are_marked_once():
    event = an_event(RUN, CROSSED_EVENT, message="loss > 1", data={"alert": "x"}, actor="root", seq=7)
    imported = imported_event(event)
    assert (imported.kind, imported.actor, imported.seq) == (IMPORTED_EVENT, "", None)
    assert imported.message == "threshold: loss > 1"
    assert imported.data == {"kind": "threshold", "data": {"alert": "x"}, "actor": "root"}
    assert imported.time_s == event.time_s
    assert imported_event(imported) == imported


def test_an_exported_run_has_no_problems():
    assert not list(problems(RUN, (an_event(RUN),), (a_point(RUN, spread=0.0),)))


def test_limits():
    for field, valid, invalid in (("attempt", 1_000_000, 1_000_001), ("created_s", 0.0, -1.0)):
        assert not list(problems(replace(RUN, **{field: valid}), (), ()))
        assert list(problems(replace(RUN, **{field: invalid}), (), ()))
    assert not list(problems(RUN, (), (a_point(RUN, count=2**31 - 1),)))
    assert list(problems(RUN, (), (a_point(RUN, spread=float("inf")),)))
