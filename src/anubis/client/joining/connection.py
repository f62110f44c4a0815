"""The requests of a joined worker to its service."""

from typing import Any

from anubis.api.machines import joined as messages
from anubis.api.machines.joined import Orders, Turn, Work
from anubis.client.remote.connection import ServiceConnection
from anubis.model.errors import BadInputError
from anubis.settings import Settings

#: Longer than the service lets a worker wait for an answer, seconds.
ANSWER_S = 60.0
_UNAUTHORISED = 401


class WorkerConnection(ServiceConnection):
    """The service at one address, for a worker with a token. Several threads may use it."""

    def __init__(self, url: str, settings: Settings, token: str) -> None:
        super().__init__(url, settings)
        self._token = token

    def turn(self, turn: Turn) -> Orders:
        """Report, and get all attempts that this worker must have; the answer may come after ``turn.wait_s``."""
        plain = self.post(messages.TURN, messages.to_json(turn), read_s=ANSWER_S + turn.wait_s)
        return messages.orders_from_json(plain)

    def work(self, run_id: str, attempt: int) -> Work:
        """What is needed to start an attempt."""
        return messages.work_from_json(self.get(f"{messages.ATTEMPTS}/{run_id}/{attempt}"))

    def script(self, run_id: str, attempt: int) -> bytes:
        """The script archive of an attempt."""
        return self.content(f"{messages.ATTEMPTS}/{run_id}/{attempt}/script")[0]

    def record_url(self, run_id: str, attempt: int, role: str, rank: str) -> str:
        """Where the record of one role and rank is shipped to."""
        return self._address(f"runs/{run_id}/record/{attempt}/{role}/{rank}")

    def _sent(self, method: str, address: str, options: dict[str, Any]) -> Any:
        headers = {**options.pop("headers", {}), "Authorization": f"Bearer {self._token}"}
        answer = super()._sent(method, address, {**options, "headers": headers})
        if answer.status == _UNAUTHORISED:
            raise TokenError(
                f"the service at {self.url} does not accept the token of this worker",
                remedy="make a token: anubis worker token NAME",
            )
        return answer


class TokenError(BadInputError):
    """The token of a worker is not valid, or it was revoked."""
