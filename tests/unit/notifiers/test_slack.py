import pytest

from anubis.model.errors import BadInputError, NotifyError
from anubis.notifiers.slack import Slack, SlackSettings, message
from anubis.settings import load
from support.alerts import ALERT, a_row, an_alert
from support.notifying import MemoryObjects


def slack(server, objects=None, **urls):
    settings = SlackSettings(
        url=f"{server.url}/default", urls={f"#{name}": url for name, url in urls.items()}
    )
    return Slack(settings, objects or MemoryObjects())


def test_nothing_wakes_the_channel_or_ends_the_code():
    loud = an_alert(
        benchmark="<!channel> & ``` <@U123>", rows=(a_row(metric="a```<!here>"),), why="`<!everyone>`"
    )
    said = message(loud)
    texts = [said["text"], *(block["text"]["text"] for block in said["blocks"] if block["type"] == "section")]
    for text in texts:
        assert "<" not in text
        assert text.count("```") in (0, 2)
    assert said["blocks"][0]["text"]["type"] == "plain_text"


def test_the_limits_of_slack_are_kept():
    rows = tuple(a_row(metric="m" * 300, units="&" * 100, note="<" * 500) for _ in range(40))
    said = message(an_alert(benchmark="b" * 300, rows=rows, why="<" * 5000))
    assert len(said["blocks"]) <= 50
    assert len(said["blocks"][0]["text"]["text"]) <= 150
    assert all(len(block["text"]["text"]) <= 3000 for block in said["blocks"])
    assert said["blocks"][1]["text"]["text"].endswith("```")


def test_webhooks_are_read_for_each_channel_and_stay_secret():
    settings = load(
        SlackSettings,
        {
            "ANUBIS_SLACK_URL": "https://s/SECRET",
            "ANUBIS_SLACK_URLS": "#perf=https://s/SECRET?a=b #infra=https://t/SECRET",
        },
    )
    assert settings.urls == {"#perf": "https://s/SECRET?a=b", "#infra": "https://t/SECRET"}
    assert "SECRET" not in repr(settings)


@pytest.mark.parametrize("value", ["https://s/SECRET", "#perf=", "#perf=SECRET", "=https://s/SECRET"])
def test_a_channel_without_a_webhook_is_refused_without_being_shown(value):
    with pytest.raises(BadInputError) as refused:
        load(SlackSettings, {"ANUBIS_SLACK_URLS": value})
    assert "SECRET" not in str(refused.value)


def test_without_settings_the_remedy_is_named():
    with pytest.raises(NotifyError, match="ANUBIS_SLACK_URL") as refused:
        Slack(SlackSettings(), MemoryObjects()).notify("slack:#perf", ALERT)
    assert refused.value.permanent
