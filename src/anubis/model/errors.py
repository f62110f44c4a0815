"""Everything Anubis raises on purpose. A message says what happened; the remedy says what to do next."""

from collections.abc import Sequence

from anubis.model.cause import Cause
from anubis.model.problem import Problem


class AnubisError(Exception):
    """Base of all errors a person may meet. ``exit_code`` is what the command line returns for it."""

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class BadInputError(AnubisError):
    """The input cannot be accepted; nothing was stored. Carries every problem found, not only the first."""

    exit_code = 2

    def __init__(
        self, message: str, *, remedy: str = "", problems: Sequence[Problem] = (), file: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.problems = tuple(problems)
        #: The file in which the problems' lines and columns lie; empty: in none.
        self.file = file


class NotFoundError(AnubisError):
    """No run, metric or record answers to that name."""

    exit_code = 2


class PlugInError(AnubisError, KeyError):
    """A plug-in cannot be used: it is broken or missing. A KeyError, so that a mapping's ``get`` answers None."""

    exit_code = 2


class UndecidedError(AnubisError):
    """The runs that were allowed cannot tell."""

    exit_code = 4


class LeaseLostError(AnubisError):
    """Another reconciler holds this run now; whatever was decided here must be dropped."""


class ElsewhereError(AnubisError):
    """What this run needs is on another machine or in another home folder; a reconciler there must go on with it."""


class NoCapacityError(AnubisError):
    """The engine has no room at the moment; the run stays due."""

    def __init__(self, message: str, *, again_after_s: float, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.again_after_s = again_after_s


class StageError(AnubisError):
    """A stage cannot go on with this run: it ends FAILED with this cause."""

    def __init__(self, message: str, *, cause: Cause, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.cause = cause


class NotifyError(AnubisError):
    """Somebody could not be told; the relay tries again unless it is ``permanent``."""

    def __init__(
        self,
        message: str,
        *,
        again_after_s: float | None = None,
        permanent: bool = False,
        remedy: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy)
        #: Seconds the other side asked to wait; None: by the relay's own back-off.
        self.again_after_s = again_after_s
        #: The address, the settings or the message were refused: the same attempt can never succeed.
        self.permanent = permanent


class StoreError(AnubisError):
    """The database cannot be reached or written at the moment (gone, locked, disk full). The call changed nothing and may
    be repeated; only when the connection broke during the commit itself it may have changed everything.
    """


class FullError(StoreError):
    """The disk or the quota of the store is full. A prefix of the data may be stored; the call may be repeated."""
