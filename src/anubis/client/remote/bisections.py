"""Bisections measure in the git repository of this machine, which a service does not have."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection, unavailable
from anubis.model.run import Run

if TYPE_CHECKING:
    from anubis.bisection.bisect_request import BisectRequest
    from anubis.bisection.bisection import BisectResult, CommitResult


class Bisections(protocol.Bisections):
    """``Bisections`` (see the protocol): only with the home folder of this machine."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def search(
        self,
        question: "BisectRequest",  # noqa: ARG002  not possible
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,  # noqa: ARG002
        answered: "Callable[[CommitResult], None] | None" = None,  # noqa: ARG002
    ) -> "BisectResult":
        raise unavailable(self._connection, "a bisection")

    def question_of_alert(
        self,
        alert_id: str,  # noqa: ARG002  not possible
        *,
        metric: str | None = None,  # noqa: ARG002
        repository: Path | None = None,  # noqa: ARG002
    ) -> "BisectRequest":
        raise unavailable(self._connection, "a bisection")
