"""A real SMTP server in a thread that stores the messages it receives."""

from email import message_from_bytes, policy

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP


class Mailbox:
    """Stores messages; answers recipients as configured."""

    def __init__(self):
        self.mails = []
        self.sessions = []
        #: Recipient or "DATA" -> the answer, or a list of answers for the next times.
        self.answers = {}

    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):  # noqa: N802  aiosmtpd's name
        answer = self.answer(address)
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server, session, envelope):  # noqa: N802  aiosmtpd's name
        answer = self.answer("DATA")
        if answer.startswith("250"):
            self.sessions.append(session)
            content = message_from_bytes(envelope.content, policy=policy.default)
            self.mails.append((envelope.rcpt_tos, content))
        return answer

    def answer(self, name):
        answer = self.answers.get(name, "250 OK")
        if isinstance(answer, list):
            return answer.pop(0) if answer else "250 OK"
        return answer


class Server(Controller):
    """aiosmtpd in a thread, on a free port; the port is known only after it listens."""

    def __init__(self, mailbox, **options):
        self.options = options
        super().__init__(mailbox, hostname="127.0.0.1", port=0, ssl_context=options.pop("implicit", None))

    def factory(self):
        return SMTP(self.handler, hostname="mail.example", **self.options)

    def _trigger_server(self):
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()
