"""Notifier ``email``: one message for each state of an alert, all in one thread."""

import html
import os
import re
import smtplib
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import unquote, urlsplit

from anubis.contracts.notifier import Letter
from anubis.contracts.world import Surroundings
from anubis.model.alert import Alert, AlertState
from anubis.model.errors import NotifyError
from anubis.reporting import alert_text
from anubis.reporting.markup import one_line
from anubis.settings import load, setting

TIMEOUT_S = 20.0
_PORTS = {"smtp": 25, "smtps": 465}
#: Lowest SMTP reply code of a permanent failure (RFC 5321, section 4.2.1).
_PERMANENT = 500

#: A dot-atom of RFC 5322 without ``?``, which separates headers in a mailto, and an ASCII domain.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PLAIN = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """How to reach the mail server."""

    host: str
    port: int
    #: TLS from the first byte; otherwise by STARTTLS.
    tls: bool
    user: str
    password: str = field(repr=False)


def _mail_server(text: str) -> MailServer:
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS[parts.scheme]
    except (KeyError, ValueError):
        parts, port = urlsplit(""), 0
    if not parts.hostname:
        raise ValueError(
            "the address of a mail server, smtp://USER:PASSWORD@HOST:587, "
            "with %-codes for : / and @ in user and password"
        )
    return MailServer(
        host=parts.hostname,
        port=port,
        tls=parts.scheme == "smtps",
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )


def _sender(text: str) -> str:
    if not _address(text):
        raise ValueError("a mail address NAME@HOST")
    return text


def _this_machine() -> str:
    address = f"anubis@{os.uname().nodename}"
    return address if _address(address) else "anubis@localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailSettings:
    """Settings of the notifier."""

    #: `smtp://USER:PASSWORD@HOST:587` (STARTTLS where the server has it, always before a password) or `smtps://...` (TLS from the start); `%40` for `@` and `%3A` for `:` inside user or password; URL; none
    server: MailServer | None = setting("ANUBIS_SMTP_URL", default=None, read=_mail_server, secret=True)
    #: Address of the sender; address; `anubis@` this machine
    sender: str = setting("ANUBIS_SMTP_FROM", default_factory=_this_machine, read=_sender)


def build(surroundings: Surroundings) -> "Email":
    """Build the notifier; its entry point names this function."""
    return Email(load(EmailSettings, surroundings.environ))


class Email:
    """Sends alerts to ``mailto:team@example.org``, or to several addresses separated by commas."""

    def __init__(self, settings: EmailSettings, context: ssl.SSLContext | None = None) -> None:
        self._settings = settings
        self._context = context

    def notify(self, to: str, alert: Alert) -> None:
        self._send(lambda: message(alert, self._settings.sender, recipients(to)))

    def send(self, to: str, letter: Letter) -> None:
        """See ``SendsLetters``."""
        self._send(lambda: report_message(letter, self._settings.sender, recipients(to)))

    def _send(self, made: Callable[[], EmailMessage]) -> None:
        server = self._settings.server
        if server is None:
            raise NotifyError(
                "cannot send mail: no mail server is configured",
                permanent=True,
                remedy="set ANUBIS_SMTP_URL",
            )
        content = made()
        try:
            with self._connection(server) as connection:
                refused = connection.send_message(content)
        except smtplib.SMTPRecipientsRefused as error:
            refused = error.recipients
        except smtplib.SMTPResponseException as error:
            raise _failure(
                server, f"answered {error.smtp_code}", permanent=error.smtp_code >= _PERMANENT
            ) from None
        except smtplib.SMTPNotSupportedError:
            raise _failure(
                server, "does not support a feature that this message or the log-in requires", permanent=True
            ) from None
        except ssl.SSLError:
            trust = "set SSL_CERT_FILE to the certificate of its authority"
            raise _failure(server, "has a certificate or a TLS that was not accepted", remedy=trust) from None
        except (OSError, smtplib.SMTPException) as error:
            raise _failure(server, f"could not be used ({type(error).__name__})") from None
        if refused:
            codes = {code for code, _ in refused.values()}
            raise _failure(
                server, f"refused {', '.join(sorted(refused))}", permanent=min(codes) >= _PERMANENT
            )

    def _connection(self, at: MailServer) -> smtplib.SMTP:
        """A connection, encrypted if the server can, always before a password is sent."""
        context = self._context or ssl.create_default_context()
        if at.tls:
            server: smtplib.SMTP = smtplib.SMTP_SSL(at.host, at.port, timeout=TIMEOUT_S, context=context)
        else:
            server = smtplib.SMTP(at.host, at.port, timeout=TIMEOUT_S)
        try:
            server.ehlo()
            if not at.tls and (server.has_extn("starttls") or at.user):
                server.starttls(context=context)
                server.ehlo()
            if at.user:
                server.login(at.user, at.password)
        except BaseException:
            server.close()
            raise
        return server


def _failure(at: MailServer, what: str, *, permanent: bool = False, remedy: str = "") -> NotifyError:
    if permanent and not remedy:
        remedy = "check ANUBIS_SMTP_URL, ANUBIS_SMTP_FROM and the address"
    message = one_line(f"the mail server {at.host}:{at.port} {what}", 400)
    return NotifyError(message, permanent=permanent, remedy=remedy)


def recipients(to: str) -> list[str]:
    """The addresses of a ``mailto:`` (RFC 6068). Raises a permanent NotifyError for anything but plain addresses."""
    addresses = [_address(unquote(part).strip()) for part in to.partition(":")[2].split(",")]
    if not all(addresses):
        raise NotifyError(
            f"{one_line(to, 80)!r} contains an invalid mail address",
            permanent=True,
            remedy="write mailto:NAME@HOST, several addresses separated by commas",
        )
    return [address for address in addresses if address]


def message(alert: Alert, sender: str, to: list[str]) -> EmailMessage:
    """The message as text and HTML.

    Message-ID consists of alert and state, so that mail programs keep a repeated message once. Every state is a reply to
    the first one, so that they form a thread (RFC 5322, section 3.6.4). The subject does not contain the state, because
    some programs form threads by subject.
    """
    domain = sender.rpartition("@")[2]
    content = EmailMessage()
    again = "" if alert.state is AlertState.CONFIRMED else "Re: "
    content["Subject"] = again + alert_text.title(alert, with_state=False)
    content["From"] = Address("Anubis", addr_spec=sender)
    content["To"] = [Address(addr_spec=address) for address in to]
    content["Date"] = format_datetime(datetime.fromtimestamp(alert.changed_s, UTC))
    content["Message-ID"] = f"<{alert_text.key(alert)}@{domain}>"
    if alert.state is not AlertState.CONFIRMED:
        first = f"<{alert.id}-{AlertState.CONFIRMED}@{domain}>"
        content["In-Reply-To"] = first
        content["References"] = first
    content["Auto-Submitted"] = "auto-generated"  # RFC 3834: suppresses automatic replies
    content.set_content(alert_text.text(alert))
    content.add_alternative(_html(alert), subtype="html")
    return content


def report_message(letter: Letter, sender: str, to: list[str]) -> EmailMessage:
    """A report as text, with the HTML file as an attachment."""
    content = EmailMessage()
    content["Subject"] = letter.subject
    content["From"] = Address("Anubis", addr_spec=sender)
    content["To"] = [Address(addr_spec=address) for address in to]
    content["Date"] = format_datetime(datetime.fromtimestamp(letter.made_s, UTC))
    content["Message-ID"] = f"<{letter.key}@{sender.rpartition('@')[2]}>"
    content["Auto-Submitted"] = "auto-generated"
    content.set_content(letter.text)
    content.add_attachment(letter.html, subtype="html", filename="report.html")
    return content


def _html(alert: Alert) -> str:
    shown, more = alert_text.lines(alert)
    head = "".join(
        f"<th align=left>{name}</th>" for name in ("Metric", "Before, after", "Effect", "n", "Noise", "Kind")
    )
    rows = "".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"
        for cells in (
            (line.metric, line.levels, line.effect, line.points, line.noise, f"{line.kind} {line.note}")
            for line in shown
        )
    )
    table = f"<table cellpadding=4><tr>{head}</tr>{rows}</table>" if rows else ""
    steps = "".join(
        f"<li>{_mark(step.command)}: {step.purpose}</li>" for step in alert_text.next_steps(alert)
    )
    return (
        f"<p><b>{html.escape(alert_text.title(alert))}</b></p>{table}"
        + (f"<p>and {more} more</p>" if more else "")
        + "".join(f"<p>{sentence}</p>" for sentence in alert_text.sentences(alert, _mark))
        + f"<p>What to do next:</p><ul>{steps}</ul>"
    )


def _mark(word: str) -> str:
    return f"<code>{html.escape(one_line(word))}</code>"


def _address(text: str) -> str:
    """The text if it is a plain address, else empty; prevents injected headers and addresses."""
    return text if _PLAIN.fullmatch(text) else ""
