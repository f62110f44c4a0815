"""Messages between workers and services: this version's are kept, unknown fields are ignored, a mismatch is one error."""

import json
from dataclasses import replace

import pytest

from anubis.api import joined as messages
from anubis.api.runs import run_details_to_json, run_from_json
from anubis.model.cause import Cause
from anubis.model.errors import BadInputError
from anubis.model.joined import Report
from anubis.model.run import Seen
from anubis.testing import a_run
from anubis.testing.builders import NOW_S, a_descriptor
from support.tree import ROOT

RECORDED = ROOT / "tests" / "recorded" / "joined"
TURN = messages.Turn(
    protocol=1,
    place="5f0c",
    release="1.0.0",
    host="bench-7",
    labels=("a100", "zone=eu"),
    engines=("process", "container"),
    slots=2,
    facts={"cpu": {"model": "EPYC"}},
    reports=(
        Report(run_id="01", attempt=2, seen=Seen.ENDED, reason="exit", exit_code=3, cause=Cause.USER_ERROR),
        Report(run_id="02", attempt=1, seen=Seen.WAITING, reason="fetching data"),
    ),
    wait_s=10.0,
    tag="ab12",
)
ORDERS = messages.Orders(
    protocol=1,
    name="one",
    release="1.0.0",
    lease_s=45.0,
    tag="cd34",
    orders=(messages.Order(run_id="01", attempt=2, cancel=True), messages.Order(run_id="02", attempt=1)),
)
RUN = a_run(
    a_descriptor("recorded", command="python3 train.py"),
    id="01890000-0000-7000-8000-000000000001",
    engine="joined",
    created_s=NOW_S,
    due_s=NOW_S,
)
WORK = messages.Work(
    protocol=1,
    run=run_details_to_json(RUN),
    variables={"TEAM": "vision"},
    secrets={"key": "value"},
    token="anubis-attempt-x",
)
#: File -> the message, and how it is read. Files of earlier versions stay.
MESSAGES = {
    "turn-1.json": (TURN, messages.turn_from_json),
    "orders-1.json": (ORDERS, messages.orders_from_json),
    "work-1.json": (WORK, messages.work_from_json),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_recorded_messages_are_read(name):
    message, read = MESSAGES[name]
    assert read(json.loads((RECORDED / name).read_text())) == message


@pytest.mark.parametrize("name", [f"{kind}-{messages.PROTOCOL}.json" for kind in ("turn", "orders", "work")])
def test_this_version_writes_what_is_recorded(name):
    message, _ = MESSAGES[name]
    assert json.loads(json.dumps(messages.to_json(message))) == json.loads((RECORDED / name).read_text())


def test_the_recorded_run_is_read():
    found = run_from_json(json.loads((RECORDED / "work-1.json").read_text())["run"])
    assert (found.descriptor, found.digest) == (RUN.descriptor, RUN.digest)


@pytest.mark.parametrize("name", MESSAGES)
def test_unknown_fields_are_ignored_and_missing_ones_have_defaults(name):
    message, read = MESSAGES[name]
    plain = {**messages.to_json(message), "colour": {"red": [1]}}
    assert read(plain) == message
    if name.startswith("turn"):
        plain["reports"][0]["mood"] = "happy"
        assert read(plain) == message
        assert read({"protocol": 1, "place": "x"}) == messages.Turn(protocol=1, place="x")
    if name.startswith("orders"):
        assert read({"protocol": 1}).orders == ()


@pytest.mark.parametrize(
    ("read", "protocol", "text"),
    [
        (messages.turn_from_json, 2, "the worker speaks version 2 .* and this service speaks version 1"),
        (messages.turn_from_json, 0, "the worker speaks version 0"),
        (messages.orders_from_json, 2, "the service speaks version 2 .* and this worker speaks version 1"),
    ],
)
def test_another_version_is_one_clear_error(read, protocol, text):
    with pytest.raises(BadInputError, match=text) as refused:
        read({"protocol": protocol, "place": "x"})
    older = "worker" if (protocol < 1) == (read is messages.turn_from_json) else "service"
    assert refused.value.remedy == f"upgrade Anubis on the machine of the {older}"


@pytest.mark.parametrize("plain", [None, [], {}, {"protocol": "1"}, {"protocol": True}, "x"])
def test_what_is_no_message_is_refused(plain):
    for _, read in MESSAGES.values():
        with pytest.raises(BadInputError, match="not a message"):
            read(plain)


def test_secrets_are_not_shown():
    assert "value" not in repr(WORK)
    assert "anubis-attempt" not in repr(replace(WORK, variables={}))
