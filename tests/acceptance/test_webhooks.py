"""Webhooks receive every event at least once and in order, also when the process that delivers is killed."""

import json
import re
import runpy
import signal
import threading

import pytest

from support.listener import Reply, listening
from support.tree import ROOT

SECRET = "a-secret-of-at-least-24-bytes"


@pytest.fixture(autouse=True)
def loopback(monkeypatch):
    monkeypatch.setenv("ANUBIS_WEBHOOK_HOSTS", "127.0.0.1")


@pytest.fixture
def add(anubis):
    """Adds a webhook; its id."""

    def added(url, *words):
        file = anubis.folder / "secret"
        file.write_text(f"{SECRET}\n")
        done = anubis("webhook", "add", url, "--secret-file", file, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return added


def events(listener):
    """The events that arrived: (id, run, kind, number) in the order of arrival, with repetitions."""
    arrived = [(request.headers["webhook-id"], request.json()["data"]) for request in listener.requests]
    return [(key, data["run_id"], data["kind"], data["seq"]) for key, data in arrived]


def stored(anubis, ref):
    return [event["kind"] for event in anubis.json("show", ref)["events"]]


def test_every_event_arrives_signed_and_in_order(anubis, add, tmp_path):
    page = (ROOT / "docs/reference/notifiers.md").read_text()
    (code,) = re.findall(r"```python\n(import base64.*?)```", page, re.DOTALL)
    (tmp_path / "verify.py").write_text(code)
    is_genuine = runpy.run_path(str(tmp_path / "verify.py"))["is_genuine"]
    anubis.write("bench.toml", "true")
    with listening() as listener, listening() as other:
        sink = add(f"{listener.url}/s3cret-path")
        add(other.url, "--kind", "final")
        assert anubis("run", "bench.toml").returncode == 0
        anubis("worker")
        arrived = events(listener)
        assert [kind for _, _, kind, _ in arrived] == stored(anubis, "@last")
        assert [key for key, *_ in arrived] == [f"{sink}-{seq}" for *_, seq in arrived]
        for request in listener.requests:
            assert is_genuine(request.headers, request.body, SECRET.encode())
            assert not is_genuine(request.headers, request.body + b" ", SECRET.encode())
            assert request.json()["type"] == f"run.{request.json()['data']['kind']}"
        assert [kind for _, _, kind, _ in events(other)] == ["final"]


def test_secrets_are_shown_nowhere(anubis, add):
    with listening() as listener:
        sink = add(f"{listener.url}/s3cret-path?key=s3cret")
        assert anubis.json("webhook", "test", sink) == {"accepted": True}
        assert listener.last.json()["type"] == "webhook.test"
        shown = [anubis("webhook", *words).stdout for words in (["list"], ["show", sink], ["list", "--json"])]
        shown.append(anubis("webhook", "remove", sink, "--json").stdout)
    for text in shown:
        assert listener.url in text
        assert "s3cret" not in text
        assert SECRET not in text


def test_a_receiver_that_is_gone_is_switched_off_and_can_be_resumed(anubis, add):
    anubis.write("bench.toml", "true")
    status = [410]
    with listening(lambda _request: Reply(status[0])) as listener:
        sink = add(listener.url)
        assert anubis("run", "bench.toml").returncode == 0
        anubis("worker")
        assert anubis.json("webhook", "show", sink)["state"] == "off"
        assert len(listener.requests) == 1
        assert "(410)" in anubis("webhook", "show", sink).stdout
        status[0] = 200
        anubis.json("webhook", "resume", sink)
        anubis("worker")
        assert [kind for _, _, kind, _ in events(listener)[1:]] == stored(anubis, "@last")


def test_a_receiver_that_fails_delays_only_itself(anubis, add):
    anubis.write("bench.toml", "true")
    status = [503]
    again = {"Retry-After": "0"}
    with listening(lambda _request: Reply(status[0], headers=again)) as failing, listening() as good:
        sink = add(failing.url)
        add(good.url)
        anubis("run", "bench.toml")
        while not (good.requests and events(good)[-1][2] == "final"):
            good.arrived.get(timeout=60)
        assert anubis.json("webhook", "show", sink)["behind"] > 0
        assert "failing" in anubis("webhook", "list").stdout
        status[0] = 200
        anubis("worker")
        while anubis.json("webhook", "show", sink)["behind"]:
            failing.arrived.get(timeout=60)
        first = dict.fromkeys(event[2:] for event in events(failing))
        assert list(first) == [event[2:] for event in events(good)]


def test_no_event_is_lost_or_reordered_when_the_relay_is_killed(anubis, add):
    """The receiver answers slowly enough that each driver is killed in the middle of its deliveries."""
    anubis.write("bench.toml", "true")
    gate, started = threading.Semaphore(0), threading.Semaphore(0)

    def answer(_request):
        started.release()
        assert gate.acquire(timeout=60)
        return Reply()

    for _ in range(2):
        anubis("run", "bench.toml")
    ids = [run["id"] for run in anubis.json("history")]
    with listening(answer) as listener:
        add(listener.url, "--past")
        for answers in (0, 3, 1):
            process = anubis.start("worker")
            for _ in range(answers):
                gate.release()
            for _ in range(answers + 1):
                assert started.acquire(timeout=60)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            gate.release()  # for the request of the killed process
        for _ in range(1000):
            gate.release()
        anubis("worker")
        first = list(dict.fromkeys(events(listener)))
        for run in ids:
            assert [kind for _, run_id, kind, _ in first if run_id == run] == stored(anubis, run)
        assert [seq for *_, seq in first] == sorted({seq for *_, seq in first})


def test_events_of_a_run_that_is_purged_meanwhile_arrive(anubis, add):
    anubis.write("bench.toml", "true")
    status = [503]
    with listening(lambda _request: Reply(status[0], headers={"Retry-After": "0"})) as listener:
        sink = add(listener.url)
        anubis("run", "bench.toml")
        kinds = stored(anubis, "@last")
        (run,) = anubis.json("history")
        assert anubis("purge", run["id"], "--yes").returncode == 0
        status[0] = 200
        anubis.json("webhook", "resume", sink)
        anubis("worker")
        arrived = list(dict.fromkeys((kind, seq) for _, _, kind, seq in events(listener)))
        assert [kind for kind, _ in arrived] == [*kinds, "purged"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["https://x.example/", "--kind", "finl"], "did you mean final?"),
        (["http://example.org/"], "is not allowed"),
        (["ftp://127.0.0.1/"], "not an http"),
    ],
)
def test_a_wrong_webhook_is_refused(anubis, words, message):
    (anubis.folder / "secret").write_text(SECRET)
    done = anubis("webhook", "add", *words, "--secret-file", anubis.folder / "secret")
    assert done.returncode == 2
    assert message in done.stderr
    (anubis.folder / "secret").write_text("short")
    done = anubis("webhook", "add", "http://127.0.0.1/", "--secret-file", anubis.folder / "secret")
    assert done.returncode == 2
    assert "24 bytes" in done.stderr
    assert "short" not in done.stderr
    assert json.loads(anubis("webhook", "list", "--json").stdout) == []
