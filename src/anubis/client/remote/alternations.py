"""Alternations are judged round by round in the home folder in which they are measured."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection, unavailable
from anubis.model.problem import Problem
from anubis.model.run import Run

if TYPE_CHECKING:
    from anubis.alternation.judgement import State
    from anubis.alternation.plan import Alternation, Plan


class Alternations(protocol.Alternations):
    """``Alternations`` (see the protocol): only with the home folder of this machine."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def begin(
        self,
        files: Sequence[Path],  # noqa: ARG002  not possible
        asked: "Plan",  # noqa: ARG002
        *,
        overrides: Mapping[str, str] | None = None,  # noqa: ARG002
        script: Path | None = None,  # noqa: ARG002
        warned: Callable[[Path, Problem], None] | None = None,  # noqa: ARG002
    ) -> "Alternation":
        raise unavailable(self._connection, "an alternation")

    def get(self, ref: str) -> "Alternation":  # noqa: ARG002  not possible
        raise unavailable(self._connection, "an alternation")

    def proceed(
        self,
        alternation: "Alternation",  # noqa: ARG002  not possible
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,  # noqa: ARG002
        judged: "Callable[[State], None] | None" = None,  # noqa: ARG002
    ) -> "State":
        raise unavailable(self._connection, "an alternation")
