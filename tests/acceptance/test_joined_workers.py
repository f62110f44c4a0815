"""Machines that joined a service: real services, workers and agents, each killed and stopped at several moments."""

import json
import os
import signal
import time
from contextlib import closing
from pathlib import Path

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import NotFoundError
from anubis.model.machines.token import is_token
from anubis.record import layout
from anubis.settings import Settings
from anubis.wiring import build
from support.agents import is_running
from support.joining import LEASE_S, Site
from support.processes import until

RETRIES = "[limits]\nretries = 2\nretry_pause_s = 0.1"


@pytest.fixture
def site(tmp_path):
    """A service on this machine."""
    made = Site(tmp_path)
    yield made
    made.close()


def test_a_run_is_measured_on_a_joined_worker(site):
    worker = site.worker("one", "--label", "a100", "--label", "zone=eu")
    run_id = site.submit(label="a100&zone=eu")
    site.wait_started(run_id)
    now = site.found("one")
    assert (now.worker.labels, now.worker.slots) == (("a100", "zone=eu"), 1)
    assert now.worker.facts["cpu"]["model"]
    assert now.worker.seen_s > 0
    until(lambda: [each.seen for each in site.found("one").attempts] == ["running"], "its state is known")
    assert [each.run_id for each in site.found("one").attempts] == [run_id]
    assert not list((site.service.home / "joined").iterdir()), "what was handed over is deleted"
    site.open_gate()
    site.check_whole(run_id)
    until(worker.is_clean, "nothing is left at the worker")
    assert not site.found("one").attempts
    assert worker.end() == 0


def test_a_run_waits_for_a_worker_with_its_labels(site):
    run_id = site.submit(label="h100")
    site.wait_status(run_id, "there is no worker", lambda run: "no joined worker answers" in run.reason)
    site.worker("one", "--label", "a100")
    site.wait_status(run_id, "there is no such worker", lambda run: "the label h100" in run.reason)
    site.worker("two", "--label", "h100")
    site.wait_started(run_id)
    busy = site.submit(label="h100")
    site.wait_status(busy, "the worker is busy", lambda run: "are busy" in run.reason)
    site.open_gate(2)
    for each in (run_id, busy):
        site.check_whole(each)
    waiting = site.submit(label="h200")
    site.wait_status(waiting, "it waits", lambda run: "the label h200" in run.reason)
    site.client.runs.cancel([waiting])
    assert site.wait_final(waiting).cause is Cause.CANCELLED
    late = site.submit(label='h200"\nmax_wait_s = 0.5\n#')
    assert site.wait_final(late).cause is Cause.NO_CAPACITY


def test_only_what_the_descriptor_names_reaches_the_worker(tmp_path):
    secrets = {"TEAM_TOKEN": "token-value-77", "OTHER_TOKEN": "other-value-77", "PLAIN": "plain-value-77"}
    site = Site(tmp_path, **secrets)
    try:
        worker = site.worker("one", OF_WORKER="worker-value-77")
        text = """spec_version = "1.0"
[info]
name = "environment"
execution_engine = "joined"
[env]
inherit = ["TEAM_TOKEN"]
[ml]
benchmark_code = "python3 -c 'import os; print(sorted((k, v[::-1]) for k, v in os.environ.items()))'"
"""
        run_id = site.submit(text=text)
        assert site.wait_final(run_id).status == "succeeded"
        seen = site.shipped(run_id, "stdout").decode()
        assert "77-eulav-nekot" in seen
        assert "77-eulav-rekrow" in seen
        assert "77-eulav-rehto" not in seen
        assert "77-eulav-nialp" not in seen
        token = Path(f"/proc/{worker.process.pid}/environ")
        assert "ANUBIS_WORKER_TOKEN" not in seen
        assert b"token-value-77" not in (site.service.home / "anubis.db").read_bytes()
        assert token.exists()
    finally:
        site.close()


def test_scripts_travel_to_the_worker(site, tmp_path):
    site.worker()
    code = tmp_path / "code"
    code.mkdir()
    (code / "bench.py").write_text("print('score=2.5')")
    path = tmp_path / "script.toml"
    path.write_text(
        """spec_version = "1.0"
[info]
name = "script"
execution_engine = "joined"
[ml]
benchmark_code = "python3 ${BAI_SCRIPTS_PATH}/code/bench.py"
[[output.metrics]]
name = "score"
units = "1"
pattern = 'score=(\\S+)'
"""
    )
    (run,) = site.client.runs.submit([path], script=code)
    assert site.wait_final(run.id).status == "succeeded"
    assert [point.value for point in site.client.results.points([run.id]) if point.metric == "score"] == [2.5]


def test_a_running_benchmark_is_cancelled(site):
    worker = site.worker()
    run_id = site.submit()
    site.wait_started(run_id)
    site.client.runs.cancel([run_id])
    run = site.wait_final(run_id)
    assert (run.status, run.cause) == ("cancelled", Cause.CANCELLED)
    assert json.loads(site.shipped(run_id, layout.EXIT))["cause"] == "cancelled"
    until(worker.is_clean, "nothing is left at the worker")


@pytest.mark.parametrize(
    ("more", "cause"),
    [("[measure]\ntimeout_s = 1", Cause.TIMEOUT), ("[limits]\nrun_timeout_s = 1", Cause.RUN_TIMEOUT)],
)
def test_limits_reach_the_worker(site, more, cause):
    worker = site.worker()
    run_id = site.submit(more=more)
    assert site.wait_final(run_id).cause is cause
    until(worker.is_clean, "nothing is left at the worker")


def test_a_killed_worker_that_comes_back_continues_its_attempt(site):
    worker = site.worker()
    run_id = site.submit()
    site.wait_started(run_id)
    worker.kill()
    site.open_gate()
    worker.start(site.service.url)
    site.check_whole(run_id)
    until(worker.is_clean, "nothing is left at the worker")


def test_a_worker_that_ends_leaves_its_benchmark_running(site):
    worker = site.worker()
    run_id = site.submit()
    site.wait_started(run_id)
    assert worker.end() == 0
    assert worker.agents()
    worker.start(site.service.url)
    site.open_gate()
    site.check_whole(run_id)


def test_a_worker_that_is_gone_is_lost_and_the_run_is_placed_again(site):
    first = site.worker("one")
    run_id = site.submit(more=RETRIES)
    site.wait_started(run_id)
    first.kill()
    second = site.worker("two")
    until(lambda: "lost" in site.kinds(run_id), "it is lost")
    site.wait_started(run_id, attempt=2)
    (agent,) = first.agents()
    first.start(site.service.url)
    until(lambda: not is_running(agent), "the worker that is back ends its attempt")
    until(first.is_clean, "and deletes it")
    site.open_gate()
    site.check_whole(run_id, attempt=2)
    assert not site.shipped(run_id, layout.EXIT, attempt=1)
    assert second.end() == 0


def test_a_run_without_retries_fails_as_lost(site):
    worker = site.worker()
    run_id = site.submit()
    site.wait_started(run_id)
    worker.kill()
    run = site.wait_final(run_id)
    assert run.cause is Cause.LOST
    assert site.shipped(run_id, "stdout") == b"first\n", "what was acknowledged is kept"


def test_a_worker_that_was_stopped_for_longer_than_its_lease_ends_its_attempt(site):
    worker = site.worker()
    run_id = site.submit()
    site.wait_started(run_id)
    (agent,) = worker.agents()
    worker.send(signal.SIGSTOP)
    assert site.wait_final(run_id).cause is Cause.LOST
    worker.send(signal.SIGCONT)
    until(lambda: not is_running(agent), "its benchmark ends")
    until(worker.is_clean, "and its record is deleted")
    again = site.submit()
    site.open_gate()
    site.check_whole(again)


@pytest.mark.parametrize("ends_meanwhile", [True, False])
def test_a_service_that_was_away_for_longer_than_a_lease_gets_the_whole_record(site, ends_meanwhile):
    worker = site.worker()
    run_id = site.submit()
    site.wait_started(run_id)
    site.service.kill()
    if ends_meanwhile:
        site.open_gate()
        until(lambda: not worker.agents(), "the benchmark has ended")
    over_s = time.monotonic() + 1.5 * float(LEASE_S)
    until(lambda: time.monotonic() > over_s, "the lease is over")
    site.service.start()
    if not ends_meanwhile:
        site.open_gate()
    site.check_whole(run_id)
    assert "lost" not in site.kinds(run_id)


def test_a_service_that_is_killed_again_and_again_gets_every_record_once(site):
    worker = site.worker("one", ANUBIS_PROCESS_SLOTS="3")
    ids = [site.submit() for _ in range(3)]
    for _ in range(3):
        site.service.kill()
        site.open_gate()
        site.service.start()
    for run_id in ids:
        site.check_whole(run_id)
    until(worker.is_clean, "nothing is left at the worker")


def test_an_agent_that_was_killed_is_lost(site):
    worker = site.worker()
    run_id = site.submit(more=RETRIES)
    site.wait_started(run_id)
    (agent,) = worker.agents()
    os.kill(agent, signal.SIGKILL)
    site.wait_started(run_id, attempt=2)
    site.open_gate()
    site.check_whole(run_id, attempt=2)


def test_a_worker_that_does_not_get_in_says_why(site, tmp_path):
    wrong = site.worker("wrong", token="anubis-worker-wrong", start=False).begin(site.service.url)
    assert wrong.process.wait(60) == 2
    assert "does not accept the token" in wrong.log.read_text()
    one = site.worker("one", token=(token := site.token("one")))
    other = site.worker("other", token=token, start=False).begin(site.service.url)
    assert other.process.wait(60) == 2
    assert "is active in another home folder" in other.log.read_text()
    assert other.name not in [each.worker.name for each in site.client.workers.find()]
    with pytest.raises(NotFoundError):
        site.found("other")
    nothing = site.worker("two", token=" ", start=False).begin(site.service.url)
    assert nothing.process.wait(60) == 2
    assert "anubis worker token NAME" in nothing.log.read_text()
    assert one.end() == 0


def test_a_revoked_worker_ends_and_its_run_is_lost(site):
    worker = site.worker()
    run_id = site.submit()
    site.wait_started(run_id)
    (agent,) = worker.agents()
    assert site.anubis("worker", "revoke", "one").returncode == 0
    assert worker.process.wait(60) == 2
    assert not is_running(agent)
    run = site.wait_final(run_id)
    assert run.cause is Cause.LOST
    assert "revoked" in " ".join(event.message for event in site.client.runs.events(run_id))
    assert site.found("one").worker.revoked_s


def test_doctor_checks_the_service_that_a_worker_has_joined(site, monkeypatch):
    worker = site.worker()
    monkeypatch.setattr(site.service, "home", worker.home)

    def check():
        checks = json.loads(site.anubis("doctor", "--json").stdout)["checks"]
        (found,) = [each for each in checks if each["name"] == "joined service"]
        return found["state"], found["found"]

    state, found = check()
    assert state == "ok"
    assert found.startswith(f"{site.service.url} answers")
    assert found.endswith("joined as one")
    site.service.stop()
    assert check()[0] == "warn"


def test_joined_workers_are_listed_and_shown(site):
    site.worker("one", "--label", "a100")
    site.token("two")
    listed = json.loads(site.anubis("worker", "list", "--json").stdout)
    assert [(each["name"], each["labels"]) for each in listed] == [("one", ["a100"]), ("two", [])]
    assert listed[0]["seen_s"]
    assert listed[1]["seen_s"] is None
    assert "token" not in listed[0]
    shown = site.anubis("worker", "show", "one")
    assert "a100" in shown.stdout
    assert "never" in site.anubis("worker", "list").stdout
    assert site.anubis("worker", "show", "none").returncode == 2
    assert site.anubis("worker", "token", "not a name").returncode == 2
    out = site.folder / "token"
    assert site.anubis("worker", "token", "three", "--output", out).returncode == 0
    assert out.stat().st_mode & 0o777 == 0o600
    made = out.read_text().strip()
    failed = site.anubis("worker", "token", "three", "--output", site.folder / "none" / "token")
    assert failed.returncode == 2
    installation = build(Settings.from_env({"ANUBIS_HOME": str(site.service.home)}))
    with closing(installation):
        assert is_token(made, installation.store.joined.get("three").token), "the first token remains valid"


@pytest.mark.parametrize("target", ["worker", "both"])
def test_kills_at_several_moments_lose_and_double_nothing(tmp_path, target):
    """Before a worker takes the runs, while they begin, while they run, while their records are shipped."""
    site = Site(tmp_path, ANUBIS_LEASE_S="60")
    try:
        worker = site.worker("one", ANUBIS_PROCESS_SLOTS="2")
        ids = [site.submit(more="[limits]\nretries = 3\nretry_pause_s = 0.1") for _ in range(2)]

        def again():
            worker.kill()
            if target == "both":
                site.service.kill()
                site.service.start()
            worker.start(site.service.url)

        again()
        until(site.starts, "an execution has started")
        again()
        until(lambda: any(site.shipped(run_id, "stdout") for run_id in ids), "there is output")
        site.open_gate(10)
        again()
        until(lambda: any(len(site.shipped(run_id, "stdout")) > 10_000 for run_id in ids), "records grow")
        again()
        for run_id in ids:
            run = site.wait_final(run_id)
            site.check_whole(run_id, attempt=run.attempt)
        until(worker.is_clean, "nothing is left at the worker")
    finally:
        site.close()
