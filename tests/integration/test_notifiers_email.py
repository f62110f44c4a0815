"""A real SMTP server (aiosmtpd): plain, with STARTTLS and log-in, with TLS from the start, and refusing."""

import socket
import ssl
import subprocess

import pytest
from aiosmtpd.smtp import AuthResult

from anubis.contracts.notifier import Letter
from anubis.model.alert import AlertState
from anubis.model.errors import NotifyError
from anubis.notifiers.email import Email, EmailSettings
from anubis.settings import load
from support.alerts import ALERT, an_alert
from support.mail import Mailbox, Server

SENDER = "anubis@lab.example"


@pytest.fixture
def mailbox():
    return Mailbox()


@pytest.fixture
def start():
    running = []

    def start(mailbox, **options):
        server = Server(mailbox, **options)
        server.start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.stop()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Contexts of a server and of a client that believe in one another."""
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    names = [
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-keyout",
        folder / "key.pem",
        "-out",
        folder / "cert.pem",
    ]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return server, ssl.create_default_context(cafile=folder / "cert.pem")


def email(server, url="smtp://127.0.0.1:{}", context=None):
    environ = {"ANUBIS_SMTP_URL": url.format(server.port), "ANUBIS_SMTP_FROM": SENDER}
    return Email(load(EmailSettings, environ), context)


def accepts(server, session, envelope, mechanism, auth_data):
    return AuthResult(success=(auth_data.login, auth_data.password) == (b"me", b"p:w@"), handled=False)


def test_a_mail_arrives_as_text_and_html(mailbox, start):
    email(start(mailbox)).notify("mailto:team@example.org,lead@example.org", ALERT)
    ((recipients, mail),) = mailbox.mails
    assert recipients == ["team@example.org", "lead@example.org"]
    assert mail["From"] == f"Anubis <{SENDER}>"
    assert mail["Subject"] == "resnet50-train: regression at 3f2a91c04d1e: throughput -4.4 %"
    assert "-4.4 % [-5.8, -3.1]" in mail.get_body(("plain",)).get_content()
    assert "-4.4 % [-5.8, -3.1]" in mail.get_body(("html",)).get_content()


def test_a_report_arrives_as_text_with_its_file(mailbox, start):
    letter = Letter(key="report-1", subject="Anubis: 1 worse", text="# worse\n", html="<p>ü</p>", made_s=1.0)
    sender = email(start(mailbox))
    sender.send("mailto:team@example.org", letter)
    sender.send("mailto:team@example.org", letter)
    (recipients, mail), (_, again) = mailbox.mails
    assert recipients == ["team@example.org"]
    assert mail["Subject"] == "Anubis: 1 worse"
    assert mail["Message-ID"] == again["Message-ID"] == "<report-1@lab.example>"
    assert mail.get_body(("plain",)).get_content().splitlines() == ["# worse"]
    (attached,) = mail.iter_attachments()
    assert (attached.get_filename(), attached.get_content().strip()) == ("report.html", "<p>ü</p>")


def test_the_life_of_an_alert_is_one_thread_and_a_repetition_is_the_same_mail(mailbox, start):
    sender = email(start(mailbox))
    for state in (AlertState.CONFIRMED, AlertState.CONFIRMED, AlertState.ACKNOWLEDGED, AlertState.RESOLVED):
        sender.notify("mailto:team@example.org", an_alert(state=state))
    first, again, *later = [mail for _, mail in mailbox.mails]
    assert first["Message-ID"] == again["Message-ID"]
    assert {mail["References"] for mail in later} == {first["Message-ID"]}
    assert len({mail["Message-ID"] for mail in later}) == 2


def test_a_password_is_said_only_after_starttls(mailbox, start, certificate):
    theirs, ours = certificate
    server = start(mailbox, tls_context=theirs, authenticator=accepts, auth_required=True)
    email(server, "smtp://me:p%3Aw%40@127.0.0.1:{}", ours).notify("mailto:team@example.org", ALERT)
    assert mailbox.sessions[0].ssl is not None
    assert mailbox.sessions[0].authenticated


def test_a_password_is_not_said_to_a_server_without_tls(mailbox, start):
    server = start(mailbox, authenticator=accepts, auth_require_tls=False)
    with pytest.raises(NotifyError) as refused:
        email(server, "smtp://me:p%3Aw%40@127.0.0.1:{}").notify("mailto:team@example.org", ALERT)
    assert refused.value.permanent
    assert mailbox.mails == []


def test_a_wrong_password_is_permanent_and_not_shown(mailbox, start, certificate):
    theirs, ours = certificate
    server = start(mailbox, tls_context=theirs, authenticator=accepts, auth_required=True)
    with pytest.raises(NotifyError) as refused:
        email(server, "smtp://me:hunter2@127.0.0.1:{}", ours).notify("mailto:team@example.org", ALERT)
    assert refused.value.permanent
    assert "hunter2" not in str(refused.value)


def test_a_certificate_nobody_vouches_for_ends_the_attempt(mailbox, start, certificate):
    with pytest.raises(NotifyError, match="SSL_CERT_FILE"):
        email(start(mailbox, tls_context=certificate[0])).notify("mailto:team@example.org", ALERT)
    assert mailbox.mails == []


def test_tls_from_the_start(mailbox, start, certificate):
    theirs, ours = certificate
    email(start(mailbox, implicit=theirs), "smtps://127.0.0.1:{}", ours).notify(
        "mailto:team@example.org", ALERT
    )
    assert len(mailbox.mails) == 1


@pytest.mark.parametrize(
    ("answers", "permanent"),
    [
        ({"a@x.org": "550 unknown"}, True),
        ({"a@x.org": "451 later"}, False),
        ({"DATA": "554 refused"}, True),
        ({"DATA": "452 full"}, False),
    ],
)
def test_the_first_digit_of_a_refusal_decides(mailbox, start, answers, permanent):
    mailbox.answers = answers
    with pytest.raises(NotifyError) as refused:
        email(start(mailbox)).notify("mailto:a@x.org", ALERT)
    assert refused.value.permanent is permanent


def test_who_could_be_told_is_told_and_the_others_are_named(mailbox, start):
    mailbox.answers = {"gone@x.org": "550 unknown"}
    with pytest.raises(NotifyError, match=r"refused gone@x\.org") as refused:
        email(start(mailbox)).notify("mailto:gone@x.org,here@x.org", ALERT)
    assert refused.value.permanent
    assert mailbox.mails[0][0] == ["here@x.org"]


def test_nobody_listening_is_temporary():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        settings = load(EmailSettings, {"ANUBIS_SMTP_URL": f"smtp://127.0.0.1:{free.getsockname()[1]}"})
        with pytest.raises(NotifyError) as failed:
            Email(settings).notify("mailto:a@x.org", ALERT)
    assert not failed.value.permanent


def test_no_header_is_smuggled_over_the_wire(mailbox, start):
    nasty = "x\r\nBcc: all@example.org\r\n.\r\nMAIL FROM:<a@b>\r\n"
    email(start(mailbox)).notify("mailto:team@example.org", an_alert(benchmark=nasty, why=nasty, actor=nasty))
    ((recipients, mail),) = mailbox.mails
    assert recipients == ["team@example.org"]
    assert mail["Bcc"] is None
