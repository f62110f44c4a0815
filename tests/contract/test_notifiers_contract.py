"""What every notifier promises, the fake included.

The servers are local: a real SMTP server (aiosmtpd), and HTTP servers that take the place of the services and check what
their documentation requires (support/forges.py). The real Alertmanager is in tests/integration.
"""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import entry_points

import pytest

from anubis.contracts.world import Surroundings
from anubis.model.alert import AlertState
from anubis.model.errors import NotifyError
from anubis.notifiers.alertmanager import Alertmanager, AlertmanagerSettings
from anubis.notifiers.email import Email, EmailSettings
from anubis.notifiers.github import GitHub, GitHubSettings
from anubis.notifiers.gitlab import GitLab, GitLabSettings
from anubis.notifiers.slack import Slack, SlackSettings
from anubis.notifiers.webhook import Webhook, WebhookSettings
from anubis.settings import Settings, load
from support.alerts import ALERT, NEW
from support.forges import TOKEN, GitHubApi, GitLabApi
from support.listener import Reply, listening
from support.mail import Mailbox, Server
from support.notifying import FakeNotifier, MemoryObjects

LOCAL = replace(ALERT, repository="http://127.0.0.1/org/model")
SECRET = "whoever-reads-this-knows-it"


@dataclass
class Case:
    """One notifier with an address it can tell, and what people see there."""

    notifier: object
    to: str
    #: () -> what people see, one text for each thing.
    seen: object
    #: () -> None: the next attempt meets trouble that will pass.
    trouble: object
    #: An address of its scheme that cannot receive anything.
    hopeless: str


@contextmanager
def fake():
    notifier = FakeNotifier()
    yield Case(
        notifier,
        "fake:team",
        lambda: [f"{state} {alert.benchmark}" for (_, _, state), alert in notifier.told.items()],
        lambda: notifier.failures.append(NotifyError("later")),
        "fake:",
    )


@contextmanager
def http(make, seen):
    """A case over an HTTP server of which only the status matters. ``make(url)``: notifier, address, hopeless one."""
    troubles = []
    heard = []

    def answer(request):
        if troubles:
            return troubles.pop()
        heard.append(request)
        return Reply(200, b"ok")

    with listening(answer) as server:
        notifier, to, hopeless = make(server.url)
        yield Case(notifier, to, lambda: seen(heard), lambda: troubles.append(Reply(503)), hopeless)


def webhook():
    def make(url):
        settings = WebhookSettings(secrets=(SECRET.encode(),), hosts=frozenset({"127.0.0.1"}))
        return Webhook(settings), f"{url}/{SECRET}", "http://elsewhere.invalid/"

    def seen(heard):
        """A receiver drops what has an id that it knows, as Standard Webhooks asks it to."""
        known = {request.headers["webhook-id"]: request.json()["data"]["title"] for request in heard}
        return list(known.values())

    return http(make, seen)


def slack():
    def make(url):
        settings = SlackSettings(urls={"#perf": f"{url}/{SECRET}"})
        return Slack(settings, MemoryObjects()), "slack:#perf", "slack:#unknown"

    return http(make, lambda heard: [request.json()["text"] for request in heard])


def alertmanager():
    def make(url):
        return (
            Alertmanager(AlertmanagerSettings(url=url, token=SECRET)),
            "alertmanager:",
            "alertmanager:severity",
        )

    def seen(heard):
        """Alertmanager knows an alert by its labels."""
        known = {}
        for request in heard:
            (alert,) = request.json()
            known[tuple(sorted(alert["labels"].items()))] = alert["annotations"]["summary"]
        return list(known.values())

    return http(make, seen)


@contextmanager
def email():
    mailbox = Mailbox()
    server = Server(mailbox)
    server.start()

    def seen():
        """Mail programs show one message for one Message-ID."""
        return list(
            {
                mail["Message-ID"]: mail.get_body(("plain",)).get_content() for _, mail in mailbox.mails
            }.values()
        )

    def answer_once():
        mailbox.answers["DATA"] = ["451 later"]

    try:
        environ = {
            "ANUBIS_SMTP_URL": f"smtp://127.0.0.1:{server.port}",
            "ANUBIS_SMTP_FROM": "anubis@lab.example",
        }
        settings = load(EmailSettings, environ)
        yield Case(Email(settings), "mailto:team@example.org", seen, answer_once, "mailto:nobody")
    finally:
        server.stop()


@contextmanager
def forge(api, make, to, seen):
    with api.running() as server:
        notifier = make(server.url)
        hopeless = f"{to.partition(':')[0]}:nothing"
        yield Case(notifier, to, lambda: seen(api), lambda: api.instead.append(Reply(502)), hopeless)


def github_check():
    return forge(
        GitHubApi(),
        lambda url: GitHub(GitHubSettings(token=TOKEN, api_url=url)),
        "github:check",
        lambda api: [check["output"]["title"] for check in api.checks],
    )


def github_comment():
    api = GitHubApi()
    api.commits[NEW] = [{"number": 7, "state": "open"}]
    return forge(
        api,
        lambda url: GitHub(GitHubSettings(token=TOKEN, api_url=url)),
        "github:comment",
        lambda api: [comment["body"] for comment in api.comments],
    )


def gitlab_note():
    api = GitLabApi()
    api.commits[NEW] = [{"iid": 7, "state": "opened"}]
    return forge(
        api,
        lambda url: GitLab(GitLabSettings(token=TOKEN, api_url=f"{url}/api/v4")),
        "gitlab:note",
        lambda api: [note["body"] for note in api.notes],
    )


@pytest.fixture(params=[fake, webhook, slack, email, alertmanager, github_check, github_comment, gitlab_note])
def case(request):
    with request.param() as case:
        yield case


def test_its_entry_points_have_the_names_of_its_schemes(case):
    served = {entry.name: entry.value.partition(":")[0] for entry in entry_points(group="anubis.notifiers")}
    module = type(case.notifier).__module__
    assert served.get(case.to.partition(":")[0], FakeNotifier.__module__) == module


def test_twice_is_seen_once(case):
    case.notifier.notify(case.to, LOCAL)
    once = case.seen()
    case.notifier.notify(case.to, LOCAL)
    assert case.seen() == once
    assert len(once) == 1


def test_it_says_which_benchmark(case):
    case.notifier.notify(case.to, LOCAL)
    assert "resnet50-train" in case.seen()[0]


def test_a_change_of_state_is_seen(case):
    for state in (AlertState.CONFIRMED, AlertState.ACKNOWLEDGED, AlertState.RESOLVED):
        case.notifier.notify(case.to, replace(LOCAL, state=state))
        assert state == "confirmed" or state in case.seen()[-1]


def test_trouble_that_passes_is_told_later(case):
    case.trouble()
    with pytest.raises(NotifyError) as failed:
        case.notifier.notify(case.to, LOCAL)
    assert not failed.value.permanent
    assert case.seen() == []
    case.notifier.notify(case.to, LOCAL)
    assert len(case.seen()) == 1


def test_an_address_that_can_never_be_told_is_given_up_with_a_remedy(case):
    with pytest.raises(NotifyError) as failed:
        case.notifier.notify(case.hopeless, LOCAL)
    assert failed.value.permanent
    assert failed.value.remedy
    assert case.seen() == []


def test_its_secrets_stay_its_own(case, caplog):
    caplog.set_level("DEBUG")
    case.trouble()
    with pytest.raises(NotifyError) as failed:
        case.notifier.notify(case.to, LOCAL)
    case.notifier.notify(case.to, LOCAL)
    settings = getattr(case.notifier, "_settings", "")
    for text in (str(failed.value), repr(case.notifier), repr(settings), caplog.text, *case.seen()):
        assert SECRET not in text
        assert TOKEN not in text


def test_every_entry_point_builds_a_notifier(tmp_path):
    surroundings = Surroundings(
        settings=Settings.from_env({"ANUBIS_HOME": str(tmp_path)}), objects=MemoryObjects()
    )
    entries = {entry.name: entry.load()(surroundings) for entry in entry_points(group="anubis.notifiers")}
    assert sorted(entries) == ["alertmanager", "github", "gitlab", "http", "https", "mailto", "slack"]
    assert all(callable(notifier.notify) for notifier in entries.values())
