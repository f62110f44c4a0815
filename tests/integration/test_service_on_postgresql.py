"""Two services on one PostgreSQL: they share the runs, also when one of them is killed or the database is restarted."""

import contextlib
import threading
import time

import pytest

from anubis.contracts.runs import RunQuery
from anubis.contracts.schedules import CatchUp
from anubis.model.descriptor import Overlap
from anubis.store import open_store
from anubis.testing.contracts.schedules import a_schedule
from support.command import Command
from support.gated import Gated
from support.postgresql import binaries, cluster
from support.processes import until
from support.requests import ask, events_of
from support.service import Service

TEXT = """spec_version = "1.0"
[info]
name = "hello"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "sh bench.sh"
"""


@pytest.fixture
def database():
    if not (folder := binaries()):
        pytest.skip("PostgreSQL server binaries not installed")
    with cluster(folder) as server:
        yield server


@pytest.fixture
def replica(database, tmp_path):
    """Starts services on the database."""
    started = []

    def start(*words, **environ):
        settings = {"ANUBIS_DATABASE_URL": database.url, "ANUBIS_PROCESS_SLOTS": "2", **environ}
        service = Service(tmp_path / "home", *words, name=f"replica-{len(started)}", **settings)
        started.append(service)
        return service.start()

    yield start
    for service in started:
        service.stop()


@pytest.fixture
def folder(tmp_path):
    """The working folder of the benchmarks."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "bench.sh").write_text("echo $ANUBIS_RUN_ID >> starts")
    return folder


def submission(folder, **more):
    return {"descriptors": [{"text": TEXT, "folder": str(folder), **more}]}


def submitted(service, folder, **headers):
    status, _, body = ask(service, "POST", "/api/v1/runs", submission(folder), **headers)
    assert status in {200, 201}, body
    return body["runs"][0]["id"]


def kinds_of(client, run_id):
    return [event.kind for event in client.runs.events(run_id)]


def gated_at(service, tmp_path):
    """A benchmark that waits for the test, submitted to a service."""
    (tmp_path / "commands").mkdir()
    commands = Command(tmp_path / "client", tmp_path / "commands")
    assert commands("register", service.url).returncode == 0
    bench = Gated(commands)
    bench.home = service.home
    return bench


def test_each_run_is_driven_once_and_both_services_take_part(replica, folder):
    services = [replica(), replica()]
    ids = [submitted(service, folder) for service in services * 6]
    with services[1].client() as client:
        assert {run.status.value for run in client.runs.wait(ids)} == {"succeeded"}
        for run_id in ids:
            kinds = kinds_of(client, run_id)
            assert (kinds.count("submitted"), kinds.count("final")) == (1, 1)
    assert sorted((folder / "starts").read_text().split()) == sorted(ids)


def test_a_run_is_driven_by_a_service_that_did_not_accept_it(replica, folder):
    front, _ = replica("--role", "api"), replica()
    run_id = submitted(front, folder)
    with front.client() as client:
        (run,) = client.runs.wait([run_id])
    assert run.status.value == "succeeded"


def test_a_killed_service_is_replaced_and_its_followers_resume_at_the_other(replica, tmp_path):
    one, other = replica(), replica("--role", "api")
    bench = gated_at(one, tmp_path)
    try:
        (run_id,) = bench.anubis("submit", bench.file).stdout.split()
        bench.wait_started()
        path = f"/api/v1/events?after=0&run={run_id}"
        first = events_of(one, path, most=2)
        one.kill()
        third = replica()
        rest = []
        following = threading.Thread(
            target=lambda: rest.extend(events_of(other, path, last_id=first[-1][0], until_kind="final"))
        )
        following.start()
        bench.open_gate()
        following.join()
        with third.client() as client:
            stored = [(str(event.seq), event.kind) for event in client.runs.events(run_id)]
        assert [(number, event["kind"]) for number, _, event in [*first, *rest]] == stored
        assert stored[-1][1] == "final"
        assert len(bench.starts()) == 1
    finally:
        bench.close()


def test_a_service_that_is_stopped_hands_over_its_runs(replica, tmp_path):
    """Its leases last longer than the test, so only their release lets the other service continue."""
    one = replica(ANUBIS_LEASE_S="100000")
    bench = gated_at(one, tmp_path)
    try:
        (run_id,) = bench.anubis("submit", bench.file).stdout.split()
        bench.wait_started()
        other = replica(ANUBIS_LEASE_S="100000")
        assert one.stop() == 0
        bench.open_gate()
        with other.client() as client:
            (run,) = client.runs.wait([run_id])
        assert run.status.value == "succeeded"
        assert len(bench.starts()) == 1
    finally:
        bench.close()


def test_a_key_stores_its_runs_once_whichever_service_is_asked(replica, folder):
    services = [replica("--role", "api"), replica("--role", "api")]
    answers = []

    def submit(service):
        answers.append(ask(service, "POST", "/api/v1/runs", submission(folder), Idempotency_Key="k"))

    racing = [threading.Thread(target=submit, args=(service,)) for service in services * 4]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join()
    assert sorted(status for status, _, _ in answers) == [200] * 7 + [201]
    assert len({body["runs"][0]["id"] for _, _, body in answers}) == 1
    other = submission(folder, name="other")
    assert ask(services[1], "POST", "/api/v1/runs", other, Idempotency_Key="k")[0] == 409


def test_both_continue_after_a_restart_of_the_database(replica, database, folder):
    services = [replica(), replica()]
    submitted(services[0], folder)
    database.stop()
    assert {service.get("/readyz") for service in services} == {503}
    assert {service.get("/healthz") for service in services} == {200}
    database.start()
    for service in services:
        until(service.is_ready, "it uses the database again")
    ids = [submitted(service, folder, Idempotency_Key=str(number)) for number, service in enumerate(services)]
    for service in services:
        with service.client() as client:
            assert {run.status.value for run in client.runs.wait(ids)} == {"succeeded"}


def test_a_due_time_starts_once(replica, database, folder):
    """Both services find a schedule with five due times in the past."""
    text = TEXT.replace('name = "hello"', 'name = "hello"\nscheduling = "0 * * * *"')
    first_s = (time.time() // 3600 - 5) * 3600
    missed = a_schedule(
        "hourly",
        scheduling="0 * * * *",
        overlap=Overlap.QUEUE,
        catch_up=CatchUp.ALL,
        folder=str(folder),
        file="hourly.toml",
        next_s=first_s,
        ready_s=first_s,
    )
    with contextlib.closing(open_store(database.url)) as store:
        store.schedules.add(missed, text)
    services = [replica(), replica()]

    def started():
        rows = ask(services[1], "GET", "/api/v1/schedules/hourly/due-times")[2]["due_times"]
        runs = [row["run_id"] for row in rows if row["state"] == "started"]
        return runs if len(runs) >= 5 else None

    runs = until(started, "the due times have started")
    with services[0].client() as client:
        client.runs.wait(runs)
        stored = {row.id for row in client.runs.find(RunQuery(limit=100))}
    assert stored == set(runs)
    assert sorted((folder / "starts").read_text().split()) == sorted(runs)
