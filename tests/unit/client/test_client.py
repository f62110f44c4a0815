"""Each noun of a client is loaded at its first use and offers what its protocol promises."""

import inspect
import os
import sys
from dataclasses import replace
from importlib import import_module

import pytest

import anubis
from anubis.cli.select import refs
from anubis.client import Client, registration
from anubis.client.protocol import (
    access,
    judging,
    reports,
    runs,
    schedules,
    sweeps,
    tools,
    triggers,
    webhooks,
)
from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError, NotFoundError, StoreError
from anubis.model.status import Status
from anubis.pipeline.lease_owner import new_owner
from anubis.record import liveness
from anubis.settings import Settings
from anubis.submission.person import person
from anubis.testing.builders import NOW_S, a_descriptor, a_point, a_run
from anubis.wiring import build

PROTOCOLS = {
    name.lower(): kind
    for module in (runs, judging, tools, schedules, sweeps, access, triggers, webhooks, reports)
    for name, kind in vars(module).items()
    if getattr(kind, "_is_protocol", False) and kind.__module__ == module.__name__
}


@pytest.fixture
def settings(tmp_path):
    return Settings.from_env({"ANUBIS_HOME": str(tmp_path), "USER": "me"})


@pytest.fixture
def client(settings):
    with Client.open(settings) as opened:
        yield opened


def stored(settings, *changes):
    """Finished runs with one value each, oldest first."""
    found = [
        a_run(
            a_descriptor("bench"),
            status=Status.SUCCEEDED,
            created_s=NOW_S + at,
            ended_s=NOW_S + at + 1,
            **each,
        )
        for at, each in enumerate(changes)
    ]
    installation = build(settings)
    installation.world.runs.add_finished([(run, "text") for run in found], [a_point(run) for run in found])
    installation.close()
    return found


def test_every_noun_has_a_protocol():
    assert list(Client.__annotations__) == [noun for noun in Client.__annotations__ if noun in PROTOCOLS]
    assert PROTOCOLS.keys() == Client.__annotations__.keys()


@pytest.mark.parametrize("noun", PROTOCOLS)
def test_a_noun_has_the_methods_of_its_protocol(noun, client):
    part = getattr(client, noun)
    assert getattr(client, noun) is part, "it is made once"
    assert PROTOCOLS[noun] in type(part).__mro__
    for name, method in vars(PROTOCOLS[noun]).items():
        if not name.startswith("_"):
            own = getattr(type(part), name)
            assert own is not method, f"{name} is implemented"
            assert list(inspect.signature(own).parameters) == list(inspect.signature(method).parameters)


@pytest.mark.parametrize("noun", PROTOCOLS)
def test_a_client_of_a_service_has_the_methods_of_the_protocol(noun, settings):
    with Client.remote("http://127.0.0.1:1", settings) as remote:
        part = getattr(remote, noun)
    assert PROTOCOLS[noun] in type(part).__mro__
    for name, method in vars(PROTOCOLS[noun]).items():
        if not name.startswith("_"):
            own = getattr(type(part), name)
            assert own is not method, f"{name} is implemented"
            assert list(inspect.signature(own).parameters) == list(inspect.signature(method).parameters)


def test_a_client_is_that_of_the_registered_service(settings):
    registration.register(settings, "http://127.0.0.1:1")
    with Client.open(settings) as remote, pytest.raises(StoreError, match="does not answer"):
        remote.runs.engines()
    with Client.open(replace(settings, service_url="none")) as local:
        assert "process" in local.runs.engines()
    registration.unregister(settings)
    with Client.open(settings) as local:
        assert "process" in local.runs.engines()


@pytest.mark.parametrize("content", ["", "{}", '{"url": 5}', '{"url": "ftp://x"}', "\0"])
def test_a_damaged_registration_is_an_error_with_the_remedy(settings, content):
    (settings.home / registration.FILE).write_text(content)
    with pytest.raises(BadInputError, match="damaged") as caught:
        Client.open(settings)
    assert "anubis register" in caught.value.remedy


def test_an_unknown_noun_is_named(client):
    with pytest.raises(AttributeError, match="'jobs'; it has: runs, results"):
        client.jobs  # noqa: B018


def test_opening_a_client_loads_no_noun(settings, monkeypatch):
    for noun in PROTOCOLS:
        monkeypatch.delitem(sys.modules, f"anubis.client.embedded.{noun}", raising=False)
    with Client.open(settings):
        loaded = {noun for noun in PROTOCOLS if f"anubis.client.embedded.{noun}" in sys.modules}
    assert loaded == set()


def test_the_connection_is_closed_with_the_client(monkeypatch):
    closed = []

    class Connection:
        def close(self):
            closed.append(True)

    with pytest.raises(ZeroDivisionError), Client("anubis.client.embedded", Connection()):
        raise ZeroDivisionError
    assert closed == [True]


def test_runs_are_found_by_reference(settings, client):
    old, new = stored(settings, {}, {})
    assert client.runs.get("@last").id == new.id
    assert client.runs.get("@last~1").id == old.id
    assert client.runs.get(old.id).id == old.id
    for ref in ("@last~2", "ffffffff"):
        with pytest.raises(NotFoundError):
            client.runs.get(ref)
    assert {point.run_id for point in client.results.points(["@last", old.id])} == {new.id, old.id}


def test_a_family_is_in_the_order_of_submission(settings, client):
    family = "01234567-89ab-7000-8000-00000000000f"
    first, second, alone = stored(settings, {"family_id": family}, {"family_id": family}, {})
    assert [row.id for row in client.runs.family(second.id)] == [first.id, second.id]
    assert [row.id for row in client.runs.family(alone.id)] == [alone.id]


def test_only_final_runs_are_purged(settings, client):
    (done,) = stored(settings, {})
    installation = build(settings)
    busy = a_run()
    installation.world.runs.add([(busy, "text")], [])
    installation.close()
    with pytest.raises(BadInputError, match=busy.id):
        client.runs.purge([done.id, busy.id])
    assert {row.id for row in client.runs.find(RunQuery())} == {done.id, busy.id}, "all or none"
    assert client.runs.purge([done.id]) == [done.id]
    assert [row.id for row in client.runs.find(RunQuery())] == [busy.id]


def test_cancelling_twice_reports_the_run_once(settings, client):
    installation = build(settings)
    run = a_run()
    installation.world.runs.add([(run, "text")], [])
    installation.close()
    assert [each.id for each in client.runs.cancel([run.id], why="enough")] == [run.id]
    assert client.runs.cancel([run.id]) == []
    (event,) = client.runs.events(run.id)
    assert (event.kind, event.message, event.actor) == ("cancel_requested", "enough", person(settings))


def test_a_cascade_cancels_what_a_run_caused_and_nothing_else(settings, client):
    (done,) = stored(settings, {})
    installation = build(settings)
    child = a_run(parent_id=done.id)
    grandchild, sibling = a_run(parent_id=child.id), a_run()
    installation.world.runs.add([(run, "text") for run in (child, grandchild, sibling)], [])
    installation.close()
    assert client.runs.cancel([done.id]) == []
    cancelled = client.runs.cancel([done.id], cascade=True)
    assert sorted(run.id for run in cancelled) == sorted([child.id, grandchild.id])
    assert not client.runs.get(sibling.id).cancel_requested
    found = refs.with_caused(client, [done.id])
    assert found[0] == done.id
    assert sorted(found[1:]) == sorted([child.id, grandchild.id])


def test_the_package_offers_the_client_and_run():
    assert anubis.Client is Client
    assert anubis.run is import_module("anubis.client.outcome").run
    with pytest.raises(AttributeError, match="jobs"):
        anubis.jobs  # noqa: B018


def test_the_folder_of_a_record_may_have_a_name_that_is_not_text(tmp_path):
    home = tmp_path / os.fsdecode(b"h\xff o")
    settings = Settings.from_env({"ANUBIS_HOME": str(home), "USER": "me"})
    (run,) = stored(settings, {})
    folder = home / "records" / run.id / "a1" / "benchmark" / "0"
    folder.mkdir(parents=True)
    with Client.open(settings) as client:
        assert client.records.folder(run.id) == folder


def test_a_run_that_was_cancelled_before_it_was_placed_has_no_record(settings):
    (run,) = stored(settings, {})
    liveness.revoke(str(settings.records / run.id / "a1" / "benchmark" / "0"))
    with Client.open(settings) as client, pytest.raises(NotFoundError, match="no record"):
        client.records.folder(run.id)


@pytest.fixture
def started(monkeypatch):
    """The home folders in which a worker was started."""
    homes = []
    monkeypatch.setattr("anubis.pipeline.worker.start", lambda home: homes.append(home) or True)
    return homes


def waiting(settings, owner=None, *, ago_s=0.0):
    """Store a run that waits, leased to this owner so many seconds ago."""
    installation = build(settings)
    installation.world.runs.add([(a_run(), "text")], [])
    if owner:
        claimed_s = installation.world.clock.now_s() - ago_s
        installation.world.leases.claim(owner, now_s=claimed_s, lease_s=settings.lease_s, limit=1)
    installation.close()


def test_a_run_that_no_process_drives_is_picked_up(client, settings, started):
    assert not client.workers.pick_up()
    waiting(settings)
    assert client.workers.pick_up()
    assert started == [settings.home]


def test_a_run_whose_driver_has_ended_is_picked_up(client, settings, started):
    living = new_owner()
    host, boot, pid, _, nonce = living.rsplit("/", 4)
    waiting(settings, f"{host}/{boot}/{pid}/1/{nonce}")
    assert client.workers.pick_up()
    assert started


def test_a_run_that_a_process_drives_is_left_to_it(client, settings, started):
    waiting(settings, new_owner())
    assert not client.workers.pick_up()
    assert started == []


def test_a_run_whose_driver_is_stopped_is_picked_up_when_the_lease_has_expired(client, settings, started):
    waiting(settings, new_owner(), ago_s=settings.lease_s + 1)
    assert client.workers.pick_up()
    assert started == [settings.home]


def test_a_command_succeeds_also_where_no_worker_can_be_started(client, settings, monkeypatch):
    def start(home):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("anubis.pipeline.worker.start", start)
    waiting(settings)
    assert not client.workers.pick_up()
