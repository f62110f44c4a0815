"""Who calls the tools, and with which rights."""

from typing import Protocol

from anubis.client import Client


class Caller(Protocol):
    """A user, with clients that have the rights of the user."""

    @property
    def name(self) -> str:
        """The name of the user; only this user can confirm what was described to them."""
        ...

    def reader(self) -> Client:
        """For what reads. Raises ForbiddenError."""
        ...

    def submitter(self) -> Client:
        """For what submits. Raises ForbiddenError."""
        ...

    def check(self, text: str, name: str) -> None:
        """Raise BadInputError for a descriptor that the caller cannot give as a text."""
        ...

    def submitted(self) -> None:
        """Runs were submitted: they are driven from now on."""
        ...


class LocalCaller(Caller):
    """The user of this process."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def name(self) -> str:
        return ""

    def reader(self) -> Client:
        return self._client

    def submitter(self) -> Client:
        return self._client

    def check(self, text: str, name: str) -> None:
        """Nothing: the descriptor may extend files that the user can read."""

    def submitted(self) -> None:
        self._client.workers.start()
