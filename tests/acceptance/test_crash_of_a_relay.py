"""kill -9 between a delivery and its mark: the next process repeats the delivery, and records it once."""

import signal
import threading

import pytest

from support.listener import Reply, listening


@pytest.fixture
def receiver():
    """A webhook that holds its answers back until it may answer."""
    may_answer = threading.Event()

    def answer(request):
        may_answer.wait(60)
        return Reply()

    with listening(answer) as listener:
        listener.may_answer = may_answer
        yield listener
        may_answer.set()


def test_a_delivery_that_was_not_marked_is_repeated_with_the_same_key(anubis, receiver, monkeypatch):
    monkeypatch.setenv("ANUBIS_WEBHOOK_HOSTS", "127.0.0.1")
    url = f"{receiver.url}/s3cret-path"
    notify = f'[[notify]]\nto = "{url}"\non = ["failure"]'
    anubis.write("broken.toml", "sh -c 'exit $(cat code)'", more=notify)
    (anubis.folder / "code").write_text("0")
    assert anubis("run", "broken.toml").returncode == 0, (
        "only a series that succeeded before has failure alerts"
    )
    (anubis.folder / "code").write_text("7")
    process = anubis.start("run", "broken.toml")
    while not receiver.requests:
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGKILL)
    process.communicate()

    (alert,) = anubis.json("alerts")
    (pending,) = anubis.json("alerts", "show", alert["id"])["deliveries"]
    assert (pending["status"], pending["attempts"], pending["to"]) == ("pending", 0, f"{receiver.url}/…")

    receiver.may_answer.set()
    assert anubis("worker").returncode == 0
    ids = [request.headers["webhook-id"] for request in receiver.requests]
    assert ids == [f"{alert['id']}-confirmed"] * 2

    shown = anubis.json("alerts", "show", alert["id"])
    (delivery,) = shown["deliveries"]
    assert (delivery["status"], delivery["attempts"], delivery["error"]) == ("delivered", 1, "")
    assert [event["kind"] for event in shown["trail"]] == ["alert", "delivered"]
    assert "s3cret" not in str(shown)
    text = anubis("alerts", "show", alert["id"]).stdout
    assert "delivered to http://127.0.0.1" in text
    assert "s3cret" not in text
