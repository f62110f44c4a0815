"""The environment that a run gets from its submitter."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from anubis.model.descriptor import Descriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedEnvironment:
    """What a run gets from its submitter. Its values are never stored in the database or in the record."""

    #: Inherited variables.
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Name of a secret -> its value, for the secrets that the descriptor refers to.
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


class Environments(Protocol):
    """Hands environments from submitting processes to the process that places the run."""

    def current(self, descriptor: Descriptor, project: str) -> SubmittedEnvironment:
        """The environment that this process gives to a run of this descriptor in a project.

        A secret of the project is used before one of the installation with the same name.

        Raises BadInputError with a problem for each variable that may not be inherited and each unusable secret.
        """
        ...

    def hand_over(self, run_ids: Sequence[str], environment: SubmittedEnvironment) -> None:
        """Keep the environment of these runs until ``remove``, readable only by this user. Raises StoreError."""
        ...

    def handed_over(self, run_id: str) -> SubmittedEnvironment | None:
        """The environment of a run; None if it was removed or never handed over. Raises StageError if it is damaged."""
        ...

    def remove(self, run_ids: Collection[str]) -> None:
        """Delete the environments of these runs; no error for those without one."""
        ...

    def digest(self, text: str) -> str:
        """A keyed digest: without the key of this installation, values cannot be guessed and compared."""
        ...
