from email import message_from_bytes, policy
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.model.alert import AlertState
from anubis.model.errors import BadInputError, NotifyError
from anubis.notifiers.email import Email, EmailSettings, message, recipients
from anubis.settings import load
from support.alerts import ALERT, a_row, an_alert

TO = recipients("mailto:team@example.org")
SENDER = "anubis@lab.example"


def parsed(alert):
    """The message as a receiver reads it."""
    return message_from_bytes(bytes(message(alert, SENDER, TO)), policy=policy.default)


def test_states_of_one_alert_are_one_thread():
    first = parsed(ALERT)
    later = parsed(an_alert(state=AlertState.RESOLVED, why="reverted"))
    assert first["Message-ID"] == f"<{ALERT.id}-confirmed@lab.example>"
    assert first["In-Reply-To"] is None
    assert later["In-Reply-To"] == later["References"] == first["Message-ID"]
    assert later["Message-ID"] != first["Message-ID"]
    assert later["Subject"] == f"Re: {first['Subject']}"


def test_the_same_notice_is_the_same_message():
    assert parsed(ALERT)["Message-ID"] == parsed(ALERT)["Message-ID"]
    assert parsed(ALERT)["Date"] == parsed(ALERT)["Date"]


def test_text_and_html_say_the_same():
    mail = parsed(ALERT)
    plain = mail.get_body(("plain",)).get_content()
    rich = mail.get_body(("html",)).get_content()
    for part in ("throughput", "-4.4 % [-5.8, -3.1]", "10+8", "1.1 %", f"anubis alerts accept {ALERT.id}"):
        assert part in plain
        assert part in rich
    assert mail["Auto-Submitted"] == "auto-generated"


def test_html_shows_what_it_is_given_and_does_nothing_else():
    rich = parsed(
        an_alert(benchmark="<script>", rows=(a_row(metric="<img src=x>", note="<b>"),), why="<a href>")
    )
    body = rich.get_body(("html",)).get_content()
    assert "<script" not in body
    assert "<img" not in body
    assert "<a " not in body
    assert "&lt;img src=x&gt;" in body


@settings(max_examples=30)
@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_makes_a_header(benchmark, why):
    bare = parsed(ALERT)
    nasty = f"{benchmark}\r\nBcc: all@example.org\r\n\r\n{benchmark}"
    mail = parsed(an_alert(benchmark=nasty, why=why, first_new=nasty, rows=(a_row(metric=nasty),)))
    assert mail.keys() == bare.keys()
    assert str(mail["To"]) == "team@example.org"


def test_several_recipients_are_read():
    found = recipients("mailto:a@x.org, b%2Bc@y.org")
    assert found == ["a@x.org", "b+c@y.org"]


@pytest.mark.parametrize(
    "to",
    [
        "mailto:",
        "mailto:team",
        "mailto:a@x.org?bcc=b@x.org",
        "mailto:a@x.org%0d%0aBcc:b@x.org",
        "mailto:A <a@x.org>",
        "mailto:a@x.org,",
        "mailto:a..b@x.org",
        "mailto:a@x.org;b@x.org",
        "mailto:a@-x.org",
    ],
)
def test_anything_but_plain_addresses_is_refused(to):
    with pytest.raises(NotifyError) as refused:
        recipients(to)
    assert refused.value.permanent


def parsed_to(addresses):
    mail = message_from_bytes(bytes(message(ALERT, SENDER, addresses)), policy=policy.default)
    return [address.addr_spec for address in mail["To"].addresses]


LETTERS = st.text(alphabet="ab.@-+%20=?!#'\\\"<>(),;: \né", max_size=20)


@given(st.builds("{}@{}".format, LETTERS, LETTERS) | st.text(max_size=30))
def test_every_address_is_accepted_or_refused(text):
    try:
        found = recipients(f"mailto:{text}")
    except NotifyError:
        return
    assert parsed_to(found) == found


def test_the_server_is_read_from_its_address():
    settings = load(
        EmailSettings, {"ANUBIS_SMTP_URL": "smtps://me%40x:p%3Aw@mail.example", "ANUBIS_SMTP_FROM": SENDER}
    )
    assert (settings.server.host, settings.server.port, settings.server.tls) == ("mail.example", 465, True)
    assert (settings.server.user, settings.server.password, settings.sender) == ("me@x", "p:w", SENDER)
    assert "p:w" not in repr(settings)


@pytest.mark.parametrize(
    "url", ["mail.example", "http://mail.example", "smtp://", "smtp://h:99999", "smtp://[h"]
)
def test_what_is_no_mail_server_is_refused(url):
    with pytest.raises(BadInputError, match="ANUBIS_SMTP_URL"):
        load(EmailSettings, {"ANUBIS_SMTP_URL": url, "ANUBIS_SMTP_FROM": SENDER})


def test_a_sender_that_is_no_address_is_refused():
    with pytest.raises(BadInputError, match="ANUBIS_SMTP_FROM"):
        load(EmailSettings, {"ANUBIS_SMTP_FROM": "x\r\nBcc: a@b"})


def test_without_a_server_the_remedy_is_named():
    with pytest.raises(NotifyError, match="ANUBIS_SMTP_URL") as refused:
        Email(load(EmailSettings, {"ANUBIS_SMTP_FROM": SENDER})).notify("mailto:a@x.org", ALERT)
    assert refused.value.permanent


def test_a_machine_whose_name_is_no_domain_still_has_a_sender(monkeypatch):
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(nodename="build_host 7"))
    assert load(EmailSettings, {}).sender == "anubis@localhost"
