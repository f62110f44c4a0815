"""A team's service: commands of clients, kill -9 while runs are in progress, and what the HTTP interface promises."""

import json
import os
import signal
import subprocess
import threading
import urllib.request
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import zstandard

from anubis.client.remote import following
from anubis.contracts.runs import RunQuery
from support.command import BIN
from support.gated import Gated
from support.processes import until
from support.requests import ask, events_of
from support.service import Service

TEXT = """spec_version = "1.0"
[info]
name = "hello"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "echo score=1.5"
"""


@pytest.fixture
def service(tmp_path):
    running = Service(tmp_path / "served").start()
    yield running
    running.stop()


@pytest.fixture
def api(tmp_path):
    """A service without reconcilers, so that nothing changes by itself."""
    running = Service(tmp_path / "served", "--role", "api").start()
    yield running
    running.stop()


def submission(**more):
    return {"descriptors": [{"text": TEXT, "folder": "/", **more}]}


def test_commands_use_the_registered_service(anubis, service):
    assert anubis("ping").returncode == 2, "no service is registered"
    registered = anubis("register", service.url)
    assert registered.returncode == 0, registered.stderr
    assert anubis.json("ping")["ready"]
    assert anubis.json("whoami")["service"] == service.url
    anubis.write("a.toml", "echo score=1")
    assert anubis("run", "a.toml").returncode == 0
    (row,) = anubis.json("history")
    assert anubis("logs").stdout == "score=1\n"
    assert anubis("watch", row["id"]).returncode == 0
    refused = anubis("bisect", "a", "b", "a.toml")
    assert refused.returncode == 2
    assert not (anubis.home / "anubis.db").exists()
    assert anubis("unregister").stdout == f"unregistered {service.url}\n"
    assert anubis.json("history") == []


def test_a_service_that_does_not_answer_is_reported_with_the_remedy(anubis, service):
    anubis("register", service.url)
    service.stop()
    ended = anubis("history")
    assert ended.returncode != 0
    assert f"the service at {service.url} does not answer" in ended.stderr
    assert "anubis unregister" in ended.stderr
    assert anubis("ping").returncode != 0
    assert anubis("register", "http://127.0.0.1:1").returncode != 0
    assert anubis("register", "ftp://x").returncode == 2


@pytest.mark.parametrize(
    "address", ["0.0.0.0:0", "[::]:0", "example.org:80", "127.0.0.1", "127.0.0.1:x", "192.0.2.1:1"]
)
def test_other_machines_cannot_be_served(anubis, address):
    ended = anubis("serve", "--listen", address)
    assert ended.returncode == 2
    assert "--listen 127.0.0.1:8080" in ended.stderr


def test_a_port_in_use_is_reported(anubis, api):
    ended = anubis("serve", "--listen", api.url.removeprefix("http://"))
    assert ended.returncode == 2
    assert "in use" in ended.stderr


@pytest.fixture
def gated(anubis, service):
    assert anubis("register", service.url).returncode == 0
    bench = Gated(anubis)
    bench.home = service.home
    yield bench
    bench.close()


@pytest.mark.parametrize("moment", ["submitted", "placed", "running", "ending"])
def test_a_killed_service_loses_no_run(anubis, service, gated, moment):
    (run_id,) = anubis("submit", gated.file).stdout.split()
    if moment in {"running", "ending"}:
        until(gated.starts, "the benchmark began")
    elif moment == "placed":
        until(lambda: gated.records("alive"), "its agent was started")
    if moment == "ending":
        gated.open_gate()
        until(lambda: gated.records("exit.json"), "the record is complete")
    service.kill()
    service.start()
    if moment != "ending":
        gated.open_gate()
    watched = anubis("watch", run_id)
    assert watched.returncode == 0, watched.stderr
    service.stop()
    (row,) = gated.check_whole()
    assert (row.id, row.values["rate"]) == (run_id, (0.5, "1/s"))
    assert len(gated.starts()) == 1


def test_a_service_that_is_killed_while_it_accepts_runs_keeps_every_acknowledged_run(service, monkeypatch):
    acknowledged, refused = [], []

    def submit(number):
        for at in range(20):
            try:
                answer = ask(service, "POST", "/api/v1/runs", submission(), Idempotency_Key=f"{number}-{at}")
                assert answer[0] == 201
                acknowledged.append(answer[2]["runs"][0]["id"])
            except OSError:
                refused.append((number, at))

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: len(acknowledged) >= 10, "some runs were acknowledged")
    service.kill()
    for thread in threads:
        thread.join()
    service.start()
    assert refused
    with service.client() as client:
        stored = {row.id for row in client.runs.find(RunQuery(limit=1000))}
        assert set(acknowledged) <= stored
        for number, at in refused:  # a repetition adds the run, or finds it
            status, _, body = ask(
                service, "POST", "/api/v1/runs", submission(), Idempotency_Key=f"{number}-{at}"
            )
            assert status in {200, 201}
            stored.add(body["runs"][0]["id"])
        assert len(stored) == 80
        ended = client.runs.wait(sorted(stored))
    assert {run.status.value for run in ended} == {"succeeded"}


def test_a_client_waits_while_the_service_is_started_again(service, monkeypatch):
    monkeypatch.setattr(following, "PAUSE_S", 0.05)
    with service.client() as client:
        (run_id,) = [run["id"] for run in ask(service, "POST", "/api/v1/runs", submission())[2]["runs"]]
        ended = []
        waiting = threading.Thread(target=lambda: ended.extend(client.runs.wait([run_id])))
        service.kill()
        waiting.start()
        service.start()
        waiting.join()
    assert [run.status.value for run in ended] == ["succeeded"]


def test_a_service_ends_in_order(service, gated, anubis):
    anubis("submit", gated.file)
    until(gated.starts, "the benchmark began")
    began = threading.Event()
    follower = threading.Thread(
        target=events_of, args=(service, "/api/v1/events?after=0"), kwargs={"began": began.set}
    )
    follower.start()
    assert began.wait(60)
    assert service.stop() == 0
    follower.join()
    gated.open_gate()
    service.start()
    assert anubis("watch").returncode == 0
    service.stop()
    gated.check_whole()


def test_a_descriptor_names_no_files_of_the_machine_of_the_service(api):
    for base in ("/proc/self/environ", "/etc/hostname", "/nothing"):
        text = f'extends = "{base}"\n{TEXT}'
        status, _, refused = ask(api, "POST", "/api/v1/runs", submission(text=text))
        assert (status, "cannot extend files" in refused["detail"]) == (400, True), refused
        assert base not in str(refused)


def test_two_services_on_one_home_share_the_runs(service, tmp_path):
    other = Service(service.home).start()
    try:
        bodies = [ask(each, "POST", "/api/v1/runs", submission())[2] for each in (service, other) * 3]
        ids = [run["id"] for body in bodies for run in body["runs"]]
        with other.client() as client:
            assert {run.status.value for run in client.runs.wait(ids)} == {"succeeded"}
            for run_id in ids:
                finals = [event for event in client.runs.events(run_id) if event.kind == "final"]
                assert len(finals) == 1
    finally:
        other.stop()


def test_a_key_stores_its_runs_once(api):
    status, _, first = ask(api, "POST", "/api/v1/runs", submission(), Idempotency_Key="k")
    assert status == 201
    status, _, second = ask(api, "POST", "/api/v1/runs", submission(), Idempotency_Key="k")
    assert (status, second["runs"]) == (200, first["runs"])
    status, headers, refused = ask(api, "POST", "/api/v1/runs", submission(name="other"), Idempotency_Key="k")
    assert (status, headers["Content-Type"]) == (409, "application/problem+json")
    assert refused["type"].endswith("#conflict")
    answers = []
    racing = [
        threading.Thread(
            target=lambda: answers.append(
                ask(api, "POST", "/api/v1/runs", submission(), Idempotency_Key="race")
            )
        )
        for _ in range(8)
    ]
    for thread in racing:
        thread.start()
    for thread in racing:
        thread.join()
    assert sorted(status for status, _, _ in answers) == [200] * 7 + [201]
    assert len({body["runs"][0]["id"] for _, _, body in answers}) == 1
    assert len(ask(api, "GET", "/api/v1/runs")[2]["runs"]) == 2


def test_pages_continue_after_a_cursor(api):
    for _ in range(5):
        ask(api, "POST", "/api/v1/runs", submission())
    seen, cursor = [], ""
    while cursor is not None:
        _, _, page = ask(api, "GET", f"/api/v1/runs?limit=2{f'&cursor={cursor}' if cursor else ''}")
        seen += [row["id"] for row in page["runs"]]
        cursor = page["next"]
        ask(api, "POST", "/api/v1/runs", submission())  # new runs do not shift pages
    assert len(seen) == len(set(seen)) == 5


def test_an_answer_that_the_client_has_is_not_sent_again(api):
    ask(api, "POST", "/api/v1/runs", submission())
    _, headers, _ = ask(api, "GET", "/api/v1/runs/@last")
    status, again, body = ask(api, "GET", "/api/v1/runs/@last", If_None_Match=headers["ETag"])
    assert (status, again["ETag"], body) == (304, headers["ETag"], None)
    ask(api, "POST", "/api/v1/runs/cancellations", {"refs": ["@last"]})
    assert ask(api, "GET", "/api/v1/runs/@last", If_None_Match=headers["ETag"])[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("GET", "/api/v1/runs/ffff", None, 404, "#not-found"),
        ("GET", "/api/v1/nothing", None, 404, "about:blank"),
        ("DELETE", "/api/v1/runs", None, 405, "about:blank"),
        ("GET", "/api/v1/runs?limit=0", None, 400, "#bad-input"),
        ("GET", "/api/v1/runs?colour=red", None, 400, "#bad-input"),
        ("GET", "/api/v1/runs?status=happy", None, 400, "#bad-input"),
        ("GET", "/api/v1/runs?cursor=x", None, 400, "#bad-input"),
        ("GET", "/api/v1/runs/ffff/record/1/../0/x", None, 404, ""),
        ("POST", "/api/v1/runs", {"descriptors": []}, 400, "#bad-input"),
        ("POST", "/api/v1/runs", {"descriptors": [{"text": "x", "shape": 1}]}, 400, "#bad-input"),
        ("POST", "/api/v1/runs", {"descriptors": [{"text": "x = ", "folder": "/"}]}, 400, "#bad-input"),
        ("POST", "/api/v1/runs", {"descriptors": [{"text": TEXT, "folder": "/nowhere"}]}, 400, "#bad-input"),
        ("POST", "/api/v1/runs", {**submission(), "script": "../../etc/passwd"}, 400, "#bad-input"),
        ("POST", "/api/v1/runs/purge", {"refs": ["ffff"]}, 404, "#not-found"),
        ("POST", "/api/v1/archives", {"no": "archive"}, 400, "#bad-input"),
        ("PUT", f"/api/v1/scripts/{'0' * 64}.tar", {"no": "archive"}, 400, "#bad-input"),
        ("GET", "/api/v1/events?after=0&run=ffff", None, 404, "#not-found"),
        ("GET", f"/api/v1/events?after={10**30}", None, 400, "#bad-input"),
        ("GET", f"/api/v1/runs/ffff/timeline?after_seq={10**30}", None, 400, "#bad-input"),
        ("GET", f"/api/v1/runs/ffff/record/{10**30}/benchmark/0/stdout", None, 400, "#bad-input"),
        ("GET", "/api/v1/runs/%00", None, 404, "#not-found"),
        ("POST", "/api/v1/storage/collect", {"before_s": float("nan")}, 400, "#bad-input"),
    ],
)
def test_every_error_is_a_problem_with_a_type(api, method, path, body, status, kind):
    found, headers, details = ask(api, method, path, body)
    assert (found, headers["Content-Type"]) == (status, "application/problem+json")
    assert details["type"].endswith(kind)
    assert details["status"] == status
    assert details["title"]
    assert "Traceback" not in json.dumps(details)


def test_files_outside_of_a_record_are_not_read(api):
    (run,) = ask(api, "POST", "/api/v1/runs", submission())[2]["runs"]
    for name in ("../../../../service.json", "..%2f..%2fanubis.db", "%2fetc%2fpasswd", "nothing", ".%2e/x"):
        status, _, _ = ask(api, "GET", f"/api/v1/runs/{run['id']}/record/1/benchmark/0/{name}?length=0")
        assert status in {200, 400, 404}
        path = f"/api/v1/runs/{run['id']}/record/1/benchmark/0/{name}"
        address = urlsplit(api.url)
        connection = HTTPConnection(address.hostname, address.port, timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status != 200 or (content == b"" and "File-Size" not in answer.headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ],
)
def test_requests_of_pages_are_refused(api, headers):
    address = urlsplit(api.url)
    connection = HTTPConnection(address.hostname, address.port, timeout=60)
    body = json.dumps(submission())
    connection.request("POST", "/api/v1/runs", body, {"Content-Type": "text/plain", **headers})
    answer = connection.getresponse()
    assert answer.status in {400, 403, 421}
    connection.close()
    assert ask(api, "GET", "/api/v1/runs")[2]["runs"] == []


def test_a_body_that_is_too_large_is_refused(api):
    address = urlsplit(api.url)
    connection = HTTPConnection(address.hostname, address.port, timeout=60)
    connection.putrequest("POST", "/api/v1/runs")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


def test_events_are_followed_and_resumed(service):
    (run,) = ask(service, "POST", "/api/v1/runs", submission())[2]["runs"]
    path = f"/api/v1/events?after=0&run={run['id']}"
    first = events_of(service, path, most=1)
    assert [event["kind"] for _, _, event in first] == ["submitted"]
    with service.client() as client:
        client.runs.wait([run["id"]])
        stored = [(str(event.seq), event.kind) for event in client.runs.events(run["id"])]
    rest = events_of(service, path, last_id=first[-1][0], most=len(stored) - 1)
    assert [(number, event["kind"]) for number, _, event in [*first, *rest]] == stored
    page = ask(service, "GET", f"{path}&limit=2")[2]
    assert [str(event["seq"]) for event in page["events"]] == [number for number, _ in stored[:2]]
    assert (
        ask(service, "GET", f"/api/v1/events?after={page['after']}")[2]["events"][0]["seq"]
        > page["after"] - 1
    )


def test_logs_are_followed_to_the_end_and_resumed(service, gated, anubis):
    (run_id,) = anubis("submit", gated.file).stdout.split()
    until(lambda: any(gated.stdouts()), "it has printed")
    path = f"/api/v1/runs/{run_id}/logs?stream=stdout"
    ((number, kind, data),) = events_of(service, path, most=1)
    assert (kind, data["attempt"], [line["line"] for line in data["lines"]]) == ("lines", 1, ["first"])
    rest = []
    following_thread = threading.Thread(target=lambda: rest.extend(events_of(service, path, last_id=number)))
    following_thread.start()
    gated.open_gate()
    following_thread.join()
    *parts, end = rest
    lines = [line["line"] for _, _, data in parts for line in data["lines"]]
    assert lines == [*map(str, range(1, 20001)), "rate=0.5"]
    assert (end[1], end[2]) == ("end", {"status": "succeeded"})
    page = ask(service, "GET", f"{path}&after=1&limit=3")[2]
    assert [each["line"] for each in page["lines"]] == ["1", "2", "3"]


def test_operators_see_health_metrics_and_run_ids(service):
    (run,) = ask(service, "POST", "/api/v1/runs", submission())[2]["runs"]
    with service.client() as client:
        client.runs.wait([run["id"]])
    assert ask(service, "GET", "/readyz")[2] == {"status": "ready", "unfinished": 0, "reconcilers": 1}
    with urllib.request.urlopen(f"{service.url}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    assert "anubis_unfinished_runs 0.0" in text
    assert 'anubis_http_requests_total{method="POST",route="/runs",status="201"} 1.0' in text
    lines = [json.loads(line) for line in service.log.read_text().splitlines()]
    assert {"placed", "watch", "succeeded"} & {
        line.get("status") for line in lines if line.get("run_id") == run["id"]
    }


def test_a_service_without_reconcilers_is_ready_and_drives_nothing(api):
    assert ask(api, "GET", "/readyz")[2]["reconcilers"] == 0
    (run,) = ask(api, "POST", "/api/v1/runs", submission())[2]["runs"]
    assert ask(api, "GET", f"/api/v1/runs/{run['id']}")[2]["attempt"] == 1
    done = subprocess.run(
        [BIN / "anubis", "worker"], env={**os.environ, "ANUBIS_HOME": str(api.home)}, check=False, timeout=60
    )
    assert done.returncode == 0
    assert ask(api, "GET", f"/api/v1/runs/{run['id']}")[2]["status"] == "succeeded"


def test_a_stopped_service_is_replaced_by_another(service, gated, anubis):
    """SIGSTOP: its leases expire, another service continues the run, and the stopped one changes nothing when it continues."""
    (run_id,) = anubis("submit", gated.file).stdout.split()
    until(gated.starts, "the benchmark began")
    os.kill(service.pid, signal.SIGSTOP)
    other = Service(service.home).start()
    try:
        gated.open_gate()
        with other.client() as client:
            (run,) = client.runs.wait([run_id])
        assert run.status.value == "succeeded"
    finally:
        os.kill(service.pid, signal.SIGCONT)
        service.stop()
        other.stop()
    gated.check_whole()


def test_a_batch_is_stored_once_and_its_problems_are_all_named(api):
    batch = {"submissions": [submission(), {**submission(), "rounds": 3}, submission()]}
    first = ask(api, "POST", "/api/v1/runs/batches", batch, Idempotency_Key="one")
    again = ask(api, "POST", "/api/v1/runs/batches", batch, Idempotency_Key="one")
    assert (first[0], again[0]) == (201, 200)
    assert [len(each["run_ids"]) for each in first[2]["submissions"]] == [1, 3, 1]
    assert again[2]["submissions"] == first[2]["submissions"]
    other = ask(api, "POST", "/api/v1/runs/batches", {"submissions": [submission()]}, Idempotency_Key="one")
    assert other[0] == 409
    wrong = submission()
    wrong["descriptors"] = [{"text": "nonsense"}]
    status, _, problem = ask(
        api, "POST", "/api/v1/runs/batches", {"submissions": [wrong, submission(), wrong]}
    )
    assert status in {400, 422}
    assert {each["path"].partition("]")[0] for each in problem["problems"]} == {
        "submissions[0",
        "submissions[2",
    }
    assert len(ask(api, "GET", "/api/v1/runs?limit=100")[2]["runs"]) == 5


def test_a_long_answer_is_compressed_for_clients_that_ask(api):
    ask(api, "POST", "/api/v1/runs", {**submission(), "rounds": 50})
    request = urllib.request.Request(f"{api.url}/api/v1/runs", headers={"Accept-Encoding": "zstd"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.headers["Content-Encoding"] == "zstd"
        tag, content = answer.headers["ETag"], answer.read()
    plain = ask(api, "GET", "/api/v1/runs")
    assert json.loads(zstandard.ZstdDecompressor().decompress(content)) == plain[2]
    assert plain[1]["Content-Encoding"] is None
    assert plain[1]["ETag"] != tag
    unchanged = ask(api, "GET", "/api/v1/runs", Accept_Encoding="zstd", If_None_Match=tag)
    assert unchanged[0] == 304
