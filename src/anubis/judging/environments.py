"""The variables in which the environments of two sets of runs differ."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anubis.record.environment import RecordedEnvironment


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A variable that has other values on the other side."""

    name: str
    #: The values on each side, None for a run without the variable; None if the record keeps only digests of them.
    baseline: tuple[str | None, ...] | None
    contender: tuple[str | None, ...] | None


def differences(
    baseline: Sequence[RecordedEnvironment], contender: Sequence[RecordedEnvironment]
) -> list[Difference]:
    """The variables whose values differ between the sides: those with known values first, then by name.

    Values of secrets are not compared, only whether they are set. Digests made with different keys are not compared.
    """
    if not baseline or not contender:
        return []
    return [*_by_value(baseline, contender), *_by_digest(baseline, contender)]


def _by_value(
    baseline: Sequence[RecordedEnvironment], contender: Sequence[RecordedEnvironment]
) -> Iterator[Difference]:
    for name in sorted({name for each in (*baseline, *contender) for name in each.values}):
        old, new = (
            tuple(
                sorted({each.values.get(name) for each in side}, key=lambda value: (value is not None, value))
            )
            for side in (baseline, contender)
        )
        if old != new:
            yield Difference(name=name, baseline=old, contender=new)


def _by_digest(
    baseline: Sequence[RecordedEnvironment], contender: Sequence[RecordedEnvironment]
) -> Iterator[Difference]:
    everything = (*baseline, *contender)
    comparable = len({each.key for each in everything}) == 1
    names = {name for each in everything for name in (*each.digests, *each.secrets)}
    for name in sorted(names):
        old, new = ({_kept(each, name, comparable) for each in side} for side in (baseline, contender))
        if old != new:
            yield Difference(name=name, baseline=None, contender=None)


def _kept(environment: RecordedEnvironment, name: str, comparable: bool) -> str | None:
    """What the record keeps of a variable: a digest, or only whether it is set; None: not set."""
    if name in environment.secrets:
        return "secret"
    digest = environment.digests.get(name)
    return "set" if digest is not None and not comparable else digest
