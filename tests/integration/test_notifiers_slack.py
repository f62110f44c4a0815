import pytest

from anubis.model.alert import AlertState
from anubis.model.errors import NotifyError
from anubis.notifiers.slack import Slack, SlackSettings
from support.alerts import ALERT, an_alert
from support.listener import Reply, listening
from support.notifying import MemoryObjects


def slack(server, objects=None, **urls):
    settings = SlackSettings(
        url=f"{server.url}/default", urls={f"#{name}": url for name, url in urls.items()}
    )
    return Slack(settings, objects or MemoryObjects())


def test_a_channel_without_its_own_webhook_is_named_to_the_default_one():
    with listening() as server:
        slack(server).notify("slack:#perf", ALERT)
    assert server.last.path == "/default"
    assert server.last.json()["channel"] == "#perf"


def test_a_channel_with_its_own_webhook_is_told_there():
    with listening() as server:
        slack(server, perf=f"{server.url}/own").notify("slack:#perf", ALERT)
    assert server.last.path == "/own"
    assert "channel" not in server.last.json()


def test_what_was_told_is_not_told_again_even_by_another_process():
    objects = MemoryObjects()
    with listening() as server:
        for alert in (ALERT, ALERT, an_alert(state=AlertState.RESOLVED)):
            slack(server, objects).notify("slack:#perf", alert)
        slack(server, objects).notify("slack:#infra", ALERT)
    assert len(server.requests) == 3


def test_what_was_refused_is_told_again():
    objects = MemoryObjects()
    limit = listening(lambda _: Reply(429, b"", {"Retry-After": "30"}))
    with limit as server, pytest.raises(NotifyError) as limited:
        slack(server, objects).notify("slack:#perf", ALERT)
    assert limited.value.again_after_s == 30
    with listening() as server:
        slack(server, objects).notify("slack:#perf", ALERT)
    assert len(server.requests) == 1
