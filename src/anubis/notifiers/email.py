"""Notifier ``email``: one message for each state of an alert, all of them in one thread."""

import html
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote, urlsplit

from anubis.contracts.world import Surroundings
from anubis.model.alert import Alert, AlertState
from anubis.model.errors import BadInputError, NotifyError
from anubis.reporting import alert_text
from anubis.reporting.markup import one_line

if TYPE_CHECKING:
    import smtplib
    import ssl
    from email.message import EmailMessage

TIMEOUT_S = 20.0
_PORTS = {"smtp": 25, "smtps": 465}
#: RFC 5321, section 4.2.1: from here on the server says that trying again is useless.
_PERMANENT = 500

#: A dot-atom of RFC 5322 without ``?``, behind which a mailto would hold headers; a domain as it travels.
_ATOM = r"[A-Za-z0-9!#$%&'*+/=^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PLAIN = re.compile(rf"{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailSettings:
    """What an operator may set about mail."""

    #: ``ANUBIS_SMTP_URL``: ``smtp://USER:PASSWORD@HOST:PORT`` (TLS by STARTTLS), or ``smtps://`` (TLS at once).
    host: str = ""
    port: int = 25
    #: TLS from the first byte.
    tls: bool = False
    user: str = ""
    password: str = field(default="", repr=False)
    #: ``ANUBIS_SMTP_FROM``: who the mail is from; ``anubis@`` this machine when unset.
    sender: str = ""

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        sender = environ.get("ANUBIS_SMTP_FROM", "").strip()
        if not sender:
            own = f"anubis@{os.uname().nodename}"
            sender = own if _address(own) else "anubis@localhost"
        if not _address(sender):
            raise BadInputError("ANUBIS_SMTP_FROM is no mail address", remedy="set it to NAME@HOST")
        text = environ.get("ANUBIS_SMTP_URL", "").strip()
        if not text:
            return cls(sender=sender)
        try:
            parts = urlsplit(text)
            port = parts.port or _PORTS[parts.scheme]
        except (KeyError, ValueError):
            parts, port = urlsplit(""), 0
        if not parts.hostname:
            raise BadInputError(
                "ANUBIS_SMTP_URL is no address of a mail server",
                remedy="set it to smtp://USER:PASSWORD@HOST:587, with %-codes for : / and @ in the password",
            )
        return cls(
            host=parts.hostname,
            port=port,
            tls=parts.scheme == "smtps",
            user=unquote(parts.username or ""),
            password=unquote(parts.password or ""),
            sender=sender,
        )


def build(surroundings: Surroundings) -> "Email":
    """The notifier as the entry point makes it."""
    del surroundings
    return Email(EmailSettings.from_env(os.environ))


class Email:
    """Sends alerts to ``mailto:team@example.org``, or to several addresses separated by commas."""

    schemes = frozenset({"mailto"})

    def __init__(self, settings: EmailSettings, context: "ssl.SSLContext | None" = None) -> None:
        self._settings = settings
        self._context = context

    def notify(self, to: str, alert: Alert) -> None:
        import smtplib  # noqa: PLC0415  20 ms that only a mail has to pay
        import ssl  # noqa: PLC0415  see above

        if not self._settings.host:
            raise NotifyError("no mail server is known", permanent=True, remedy="set ANUBIS_SMTP_URL")
        content = message(alert, self._settings.sender, recipients(to))
        try:
            with self._server() as server:
                refused = server.send_message(content)
        except smtplib.SMTPRecipientsRefused as error:
            refused = error.recipients
        except smtplib.SMTPResponseException as error:
            raise self._failure(
                f"answered {error.smtp_code}", permanent=error.smtp_code >= _PERMANENT
            ) from None
        except smtplib.SMTPNotSupportedError:
            raise self._failure("lacks what this message or its log-in needs", permanent=True) from None
        except ssl.SSLError:
            trust = "name its authority's file in SSL_CERT_FILE"
            raise self._failure("has a certificate or a TLS that was not accepted", remedy=trust) from None
        except (OSError, smtplib.SMTPException) as error:
            raise self._failure(f"could not be used ({type(error).__name__})") from None
        if refused:
            codes = {code for code, _ in refused.values()}
            raise self._failure(f"refused {', '.join(sorted(refused))}", permanent=min(codes) >= _PERMANENT)

    def _server(self) -> "smtplib.SMTP":
        """A connection, encrypted if the server can, always before a password is said."""
        import smtplib  # noqa: PLC0415  see notify
        import ssl  # noqa: PLC0415  see notify

        at, context = self._settings, self._context or ssl.create_default_context()
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

    def _failure(self, what: str, *, permanent: bool = False, remedy: str = "") -> NotifyError:
        if permanent and not remedy:
            remedy = "check ANUBIS_SMTP_URL, ANUBIS_SMTP_FROM and the address"
        where = f"the mail server {self._settings.host}:{self._settings.port}"
        return NotifyError(one_line(f"{where} {what}", 400), permanent=permanent, remedy=remedy)


def recipients(to: str) -> list[str]:
    """The addresses of a ``mailto:`` (RFC 6068); a permanent NotifyError for anything but plain addresses."""
    found = [_address(unquote(part).strip()) for part in to.partition(":")[2].split(",")]
    if not all(found):
        raise NotifyError(
            f"{one_line(to, 80)!r} holds what is no mail address",
            permanent=True,
            remedy="write mailto:NAME@HOST, with commas between several, and nothing else",
        )
    return [address for address in found if address]


def message(alert: Alert, sender: str, to: list[str]) -> "EmailMessage":
    """Text and HTML. Message-ID is made of alert and state, so that a message sent twice is kept once.

    Every state answers the first one told, which makes a thread of them (RFC 5322, section 3.6.4); the subject
    stays that of the alert, because some programs keep threads by subject.
    """
    from email.headerregistry import Address  # noqa: PLC0415  see notify
    from email.message import EmailMessage  # noqa: PLC0415  see notify
    from email.utils import format_datetime  # noqa: PLC0415  see notify

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
    content["Auto-Submitted"] = "auto-generated"  # RFC 3834: no holiday notice answers a machine
    content.set_content(alert_text.text(alert))
    content.add_alternative(_html(alert), subtype="html")
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
    """A bare address; empty for anything else, and so for what could smuggle in a header or a second address."""
    return text if _PLAIN.fullmatch(text) else ""
