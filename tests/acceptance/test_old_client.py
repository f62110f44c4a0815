"""The old client, whose requests are made with curl, and a service."""

import base64
import json
import re
import subprocess
import uuid

import pytest

from support.old_client import OldClient
from support.processes import until
from support.service import Service

TEXT = """spec_version = "0.1.0"
[info]
description = "says hello"
[info.labels]
task_name = "hello"
[hardware]
instance_type = "local"
[env]
docker_image = "user/image:tag"
[ml]
benchmark_code = "{command}"
{more}
"""
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def text_of(command="echo score=1.5", more=""):
    return TEXT.format(command=command, more=more)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Service(tmp_path_factory.mktemp("old") / "served").start()
    yield running
    running.stop()


@pytest.fixture
def old(service, tmp_path):
    client = OldClient(service.url, tmp_path)
    client.client_id = uuid.uuid4().hex  # the tests share the service
    return client


def messages(statuses):
    return [(each["payload"].get("status"), each["payload"]["message"]) for each in statuses]


def test_a_conversation_of_the_old_client(old):
    for path in ("/ready", "/lively"):
        status, headers, body = old.curl(path)
        assert (status, body) == (200, f"sure am {path[1:]}")
        assert re.fullmatch(r"\d+\.\d+\.\d+", headers["x-service-version"])
    script = old.script({"src/go.sh": b"echo score=3.5\necho done >&2\n"})
    assert old.curl(f"/api/job/script/{script.name}")[2] == "false"
    text = text_of(
        "sh -c 'sh ${BAI_SCRIPTS_PATH}/src/go.sh'",
        f'[ml.script]\nscript = "{script.name}"\n'
        '[[output.metrics]]\nname = "score"\nunits = "1"\npattern = \'score=([0-9.]+)\'',
    )
    status, action_id = old.submit(text, "-F", f"script=@{script};type=application/x-tar")
    assert status == 200, action_id
    assert UUID.fullmatch(action_id)
    assert old.curl(f"/api/job/script/{script.name}")[2] == "true"
    statuses, exit_status = old.watch(action_id)
    assert exit_status == 0, messages(statuses)
    assert messages(statuses)[0] == ("SUCCEEDED", "Submission has been successfully received...")
    assert messages(statuses)[-1] == ("SUCCEEDED", "Benchmark finished successfully")
    assert "METRICS AVAILABLE" in [status for status, _ in messages(statuses)]
    assert {each["type"] for each in statuses} == {"BAI_APP_STATUS"}
    (listed,) = old.json(f"/api/job/{old.client_id}")["action_ids"]
    assert listed["action_id"] == action_id
    lines = [hit["_source"]["log"] for hit in old.json(f"/api/job/results/{old.client_id}/{action_id}")]
    assert sorted(lines) == ["done\n", "score=3.5\n"]
    again, body = old.submit(text)  # the client does not send a script that the service has
    assert again == 200, body
    assert old.watch(body)[1] == 0


def test_the_client_that_is_downloaded_says_how_to_upgrade(old, tmp_path):
    status, _, body = old.curl("/api/tools/anubis")
    assert status == 200
    path = tmp_path / "anubis"
    path.write_text(body)
    ended = subprocess.run(["sh", path, "--submit", "x.toml"], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "pip install anubis-bench" in ended.stderr


def test_pages_and_unknown_addresses_are_html(old):
    for path in ("/", "/api"):
        status, headers, body = old.curl(path)
        assert (status, "text/html" in headers["content-type"], "Anubis" in body) == (200, True, True)
    assert old.curl("/api/job/a/b/c/d")[0] == 404
    assert old.curl("/api/job/", "-X", "POST")[0] == 501


def test_weakness_1_every_submission_ends_in_a_status(old):
    status, body = old.submit(text_of("false"))
    assert status == 200
    statuses, exit_status = old.watch(body)
    assert exit_status == 1
    assert statuses[-1]["payload"]["status"] == "FAILED"


def test_weakness_1_all_problems_are_reported_at_once(old):
    broken = text_of(more='[nonsense]\nx = 1\n[[output.metrics]]\nname = "a"\nunits = "s"\npattern = "["')
    status, body = old.submit(broken)
    assert status == 400
    assert body.startswith("Could Not Parse Submitted Descriptor: ")
    assert "nonsense" in body
    assert "pattern" in body


def test_weakness_3_watch_ends_after_a_cancellation(old):
    action_id = old.submit(text_of("sleep 60"))[1]
    until(lambda: "RUNNING" in [status for status, _ in messages(old.statuses(action_id))], "the run began")
    status, command_id = old.cancel(action_id)
    assert (status, bool(UUID.fullmatch(command_id))) == (200, True), command_id
    statuses, exit_status = old.watch(action_id)
    assert (exit_status, statuses[-1]["payload"]["status"]) == (1, "CANCELED")
    received, returned = old.statuses(command_id)
    assert received["payload"]["message"] == f"Action received, dispatching delete for {action_id}"
    assert (returned["type"], returned["payload"]["return_code"]) == ("CMD_RETURN", 0)
    assert old.cancel(action_id) == (200, command_id), "a repetition is the same command"


def test_weakness_3_output_that_looks_like_an_end_does_not_end_watch(old):
    action_id = old.submit(text_of("sh -c 'echo Benchmark finished successfully >&2; exit 3'"))[1]
    statuses, exit_status = old.watch(action_id)
    assert exit_status == 1
    assert "Benchmark finished" not in json.dumps([each["payload"]["message"] for each in statuses])


def test_weakness_3_the_first_status_contains_the_descriptor(old):
    text = text_of()
    first = old.statuses(old.submit(text)[1])[0]
    assert base64.b64decode(first["payload"]["toml"]["doc"]).decode() == text


def test_weakness_4_no_status_is_repeated(old):
    statuses, _ = old.watch(old.submit(text_of())[1])
    assert len({each["message_id"] for each in statuses}) == len(statuses)
    assert len({each["message_id"][:8] for each in statuses}) > 1, "--inspect takes the first group"


def test_weakness_5_client_ids_are_checked(old):
    for client_id in ("a: b", "{}", "", "x" * 200, 7):
        assert old.submit("", event=old.event(text_of(), client_id=client_id))[0] == 400
    assert old.curl("/api/job/a%0Ab")[0] == 400
    assert old.curl("/api/job/12345/" + str(uuid.uuid4()))[0] == 404


def test_weakness_9_digests_are_enforced(old):
    event = old.event(text_of())
    event["payload"]["toml"]["sha1"] = "0" * 40
    status, body = old.submit("", event=event)
    assert (status, "SHA-1" in body) == (400, True)
    script = old.script({"a": b"b"})
    other = script.rename(script.with_name("0" * 40 + ".tar"))
    status, body = old.submit(text_of(), "-F", f"script=@{other}")
    assert (status, "SHA-1" in body) == (400, True)
    assert old.json(f"/api/job/{old.client_id}")["action_ids"] == []


def test_weakness_12_only_listed_commands_and_files_are_served(old):
    action_id = old.submit(text_of())[1]
    for command in ("__init__", "purge", ["cancel"], None):
        assert old.cancel(action_id, command=command)[0] == 400
    assert old.cancel(action_id, target=str(uuid.uuid4()))[0] == 400
    for name in ("project.clj", "..%2f..%2fetc%2fpasswd", "anubis/../x"):
        assert old.curl(f"/api/tools/{name}")[0] == 404


def test_weakness_12_actions_of_other_clients_are_not_shown(old, service, tmp_path):
    action_id = old.submit(text_of())[1]
    other = OldClient(service.url, tmp_path)
    other.client_id = "someone-else"
    assert other.curl(f"/api/job/{other.client_id}/{action_id}")[0] == 404
    assert other.curl(f"/api/job/results/{other.client_id}/{action_id}")[0] == 404
    assert other.cancel(action_id)[0] == 404


def test_weakness_13_status_and_results_are_readable_at_once_and_complete(old):
    action_id = old.submit(text_of("seq 1 1200"))[1]
    assert old.statuses(action_id), "as soon as the submission was answered"
    old.json(f"/api/job/results/{old.client_id}/{action_id}")
    old.watch(action_id)
    lines = [hit["_source"]["log"] for hit in old.json(f"/api/job/results/{old.client_id}/{action_id}")]
    assert lines == [f"{number}\n" for number in range(1, 1201)]


def test_weakness_15_a_schedule_is_an_action(old):
    text = text_of().replace("[info]", '[info]\nscheduling = "0 3 * * *"')
    status, action_id = old.submit(text)
    assert status == 200, action_id
    assert messages(old.statuses(action_id))[0][1].startswith("Scheduled benchmark successfully submitted")
    assert action_id in [each["action_id"] for each in old.json(f"/api/job/{old.client_id}")["action_ids"]]
    status, command_id = old.cancel(action_id, cascade=True)
    assert status == 200
    assert old.statuses(command_id)[-1]["payload"]["return_code"] == 0
    assert old.watch(action_id)[1] == 1


def test_weakness_20_an_event_that_is_sent_twice_is_stored_once(old):
    event = old.event(text_of())
    first, second = old.submit("", event=event), old.submit("", event=event)
    assert first == second
    changed = old.event(text_of("echo other"), message_id=event["message_id"])
    assert old.submit("", event=changed)[0] == 400


def test_the_cursor_is_inclusive_for_a_time_and_exclusive_for_a_message(old):
    statuses, _ = old.watch(old.submit(text_of())[1])
    action_id, at = statuses[0]["action_id"], len(statuses) // 2
    key = f"{statuses[at]['tstamp']}:{statuses[at]['message_id']}"
    assert old.statuses(action_id, key) == statuses[at + 1 :]
    assert old.statuses(action_id, statuses[at]["tstamp"])[0]["tstamp"] == statuses[at]["tstamp"]
    assert old.statuses(action_id, f"{statuses[-1]['tstamp']}:{statuses[-1]['message_id']}") == []
    assert old.curl(f"/api/job/{old.client_id}/{action_id}?since=yesterday")[0] == 400


def test_purge_is_cancel_with_cascade(old):
    action_id = old.submit(text_of("sleep 60"))[1]
    assert old.cancel(action_id, cascade=True)[0] == 200
    assert old.watch(action_id)[0][-1]["payload"]["status"] == "CANCELED"
    ended = old.submit(text_of())[1]
    old.watch(ended)
    status, body = old.cancel(ended)
    assert (status, "cannot be cancelled" in body) == (400, True)


def test_a_killed_service_keeps_acknowledged_submissions(service, old):
    acknowledged = [old.submit(text_of())[1] for _ in range(3)]
    service.kill()
    service.start()
    assert [each["action_id"] for each in old.json(f"/api/job/{old.client_id}")["action_ids"]] == acknowledged
    assert {old.watch(action_id)[1] for action_id in acknowledged} == {0}


@pytest.mark.parametrize(
    "words",
    [
        ("-d", "x"),
        ("-F", "other=1"),
        ("-F", "submit-event={}"),
        ("-F", "submit-event=[[[["),
        ("-H", "Content-Type: multipart/form-data", "-d", "x"),
        ("-H", "Content-Type: multipart/form-data; boundary=a", "-d", "--a\r\n\r\n"),
    ],
)
def test_other_bodies_are_refused_with_a_text(old, words):
    status, _, body = old.curl("/api/job/descriptor", *words)
    assert status == 400
    assert body.startswith("Could Not Parse Submitted Descriptor: ")
