"""How a run ended according to its record."""

from dataclasses import dataclass

from anubis.model.cause import Cause
from anubis.record import layout
from anubis.record.reading import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordResult:
    """The end of a run as its agent recorded it, or the damage of the record."""

    cause: Cause | None
    reason: str
    #: Exit code of the benchmark; None if it has none.
    exit_code: int | None = None

    @property
    def is_damaged(self) -> bool:
        """Whether the record cannot be read."""
        return self.cause is Cause.RECORD_DAMAGED


def result_of(record: Record) -> RecordResult | None:
    """The result in exit.json; None where there is no such file. The cause of an invalid file is RECORD_DAMAGED."""
    if record.exit_damage:
        return damaged(record.exit_damage)
    if not record.exit:
        return None
    cause = record.exit.get("cause")
    if cause is not None and cause not in set(Cause):
        return damaged(f'{layout.EXIT}: "{cause}" is not a cause')
    exit_code = record.exit.get("code")
    if cause is None and exit_code != 0:
        return damaged(f"{layout.EXIT}: there is no cause, although the exit code is {exit_code}")
    return RecordResult(
        cause=None if cause is None else Cause(cause),
        reason=record.exit.get("reason", ""),
        exit_code=exit_code,
    )


def damaged(problem: str) -> RecordResult:
    """The result of a run whose record cannot be read, with what is wrong."""
    return RecordResult(cause=Cause.RECORD_DAMAGED, reason=f"the record is damaged: {problem}")
