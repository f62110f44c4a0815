"""The exceptions of Anubis. The message says what happened; the remedy says what to do next."""

import errno
from collections.abc import Sequence

from anubis.model.cause import Cause
from anubis.model.problem import Problem

#: Maximum number of damaged metrics in one message.
_MOST_NAMED = 20


class AnubisError(Exception):
    """Base of all errors shown to users. ``exit_code`` is the exit status of the command line."""

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class BadInputError(AnubisError):
    """The input is not valid and nothing was stored. Contains all problems, not only the first."""

    exit_code = 2

    def __init__(
        self, message: str, *, remedy: str = "", problems: Sequence[Problem] = (), file: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.problems = tuple(problems)
        #: The file to which the lines and columns of the problems refer; empty: none.
        self.file = file


class NotFoundError(AnubisError):
    """There is no run, metric or record with that name."""

    exit_code = 2


class UnauthorizedError(AnubisError):
    """The service needs a valid token."""

    exit_code = 2


class ForbiddenError(AnubisError):
    """The user, or the token, has no right to do this."""

    exit_code = 2


class TooManyRequestsError(AnubisError):
    """The token or the address sent too many requests."""

    def __init__(self, message: str, *, again_after_s: float, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.again_after_s = again_after_s


class QuotaError(TooManyRequestsError):
    """A project may not submit these runs now. Nothing was stored."""

    exit_code = 2


class PlugInError(AnubisError, KeyError):
    """A plug-in cannot be used: it is broken or missing. A KeyError, so that a mapping's ``get`` answers None."""

    exit_code = 2


class CancelledError(AnubisError):
    """Runs were cancelled that the command needs for its result."""

    exit_code = 5


class UndecidedError(AnubisError):
    """The allowed number of runs does not lead to a decision."""

    exit_code = 4


class LeaseLostError(AnubisError):
    """Another reconciler holds the lease of this run now; the result of this one must be dropped."""


class ConflictError(AnubisError):
    """Another writer changed an alert after it was read. Nothing was written; decide again on the stored alert."""


class ElsewhereError(AnubisError):
    """The run needs files of another machine or home folder; a reconciler there must continue it."""


class NoCapacityError(AnubisError):
    """The engine has no free capacity; the run stays due."""

    def __init__(self, message: str, *, again_after_s: float, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.again_after_s = again_after_s


class NotReadyError(AnubisError):
    """The engine cannot place this run yet, for example while it pulls its image; the run stays due, with this reason.

    Unlike missing capacity, this does not delay other runs.
    """

    def __init__(self, message: str, *, remedy: str = "", again_after_s: float) -> None:
        super().__init__(message, remedy=remedy)
        self.again_after_s = again_after_s


class RevokedError(AnubisError):
    """An attempt of a run was revoked before it started, and can never start; the next attempt can."""


class StageError(AnubisError):
    """A stage cannot continue this run: it ends FAILED with this cause."""

    def __init__(self, message: str, *, cause: Cause, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.cause = cause


class SourceError(StageError):
    """Data could not be fetched. It is tried again if the error is ``temporary``."""

    def __init__(
        self,
        message: str,
        *,
        cause: Cause,
        temporary: bool = False,
        again_after_s: float | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(message, cause=cause, remedy=remedy or cause.remedy)
        self.temporary = temporary
        #: Seconds that the server asked to wait; None: the default back-off applies.
        self.again_after_s = again_after_s


class NotifyError(AnubisError):
    """A notification could not be delivered; it is retried unless the error is ``permanent``."""

    def __init__(
        self,
        message: str,
        *,
        again_after_s: float | None = None,
        permanent: bool = False,
        remedy: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy)
        #: Seconds that the service asked to wait; None: the default back-off applies.
        self.again_after_s = again_after_s
        #: The address, the settings or the message were refused: a retry cannot succeed.
        self.permanent = permanent


class StoreError(AnubisError):
    """The database cannot be reached or written (unavailable, locked, disk full).

    The call changed nothing and may be repeated, unless the connection failed during the commit: then all changes may
    have been applied.
    """


class FullError(StoreError):
    """The disk or the quota of the store is full. A prefix of the data may be stored; the call may be repeated."""

    exit_code = 2


class ReadOnlyError(StoreError):
    """The store can be read but not written: a read-only disk, or missing permissions. The call changed nothing."""

    exit_code = 2


class DamagedDatabaseError(AnubisError):
    """The content of the database is damaged. Repeating the call does not help: a backup must be restored."""

    exit_code = 2

    @classmethod
    def of(cls, place: str, problem: str) -> "DamagedDatabaseError":
        """The error of the database with this address, with the ways to restore it."""
        return cls(
            f"the database {place} is damaged: {problem}",
            remedy="stop all commands and workers, then restore a backup: anubis backup --restore FILE; without one, rescue "
            f"what can be read: sqlite3 {place} .recover | sqlite3 rescued.db, then anubis backup --restore rescued.db",
        )


class DamagedSamplesError(AnubisError):
    """Stored samples of a run are damaged. Its other values are not affected, and its record has the samples."""

    exit_code = 2

    @classmethod
    def of(cls, run_id: str, metric: str, problem: str) -> "DamagedSamplesError":
        """The error of one metric of a run, with the ways to restore its samples."""
        return cls(
            f'the stored samples of "{metric}" of run {run_id} are damaged: {problem}',
            remedy=f"read them from its record again: anubis record extract {run_id}; without a record (an imported "
            "history), purge the run and import it again. Then check the disk, and the database with anubis doctor --database",
        )

    @classmethod
    def of_several(cls, damaged: Sequence[tuple[str, str]]) -> "DamagedSamplesError":
        """The error of several metrics, given as run id and metric."""
        named = ", ".join(f'"{metric}" of run {run_id}' for run_id, metric in damaged[:_MOST_NAMED])
        more = f" and {len(damaged) - _MOST_NAMED} more" if len(damaged) > _MOST_NAMED else ""
        return cls(
            f"stored samples are damaged: {named}{more}",
            remedy="read them from the record of each run again: anubis record extract RUN; without a record (an imported "
            "history), purge the run and import it again. Then check the disk",
        )


def disk_error(what: str, error: OSError) -> StoreError:
    """The error of a store in a folder, from that of the file system."""
    message = f"{what}: {error.strerror or error}"
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return FullError(message, remedy="free disk space, then try again")
    if error.errno in {errno.EROFS, errno.EACCES, errno.EPERM}:
        return ReadOnlyError(message, remedy="make the folder writable, then try again")
    return StoreError(message, remedy="check the disk and the permissions of that folder, then try again")
