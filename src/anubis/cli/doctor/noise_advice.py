"""What to change on this machine so that measurements vary less."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anubis.cli.doctor.installation_checks import Check, State
from anubis.cli.doctor.noise_floor import CPU, PINNED, Noise
from anubis.cli.views import units

#: Pinning is proposed if it lowers the noise floor to less than this share.
_CLEARLY = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One change of the machine or of the descriptor."""

    what: str
    #: The state that was found.
    found: str
    how: str
    #: The noise floor before and after, as ratios, where both were measured; None: not measured.
    noise_floor: tuple[float, float] | None = None


def advice(checks: Sequence[Check], results: Sequence[Noise]) -> Iterator[Advice]:
    """A change for each warning about the machine, and what the measurements show."""
    floors = {noise.kernel: noise.noise_floor for noise in results}
    if CPU in floors and PINNED in floors and floors[PINNED] < _CLEARLY * floors[CPU]:
        yield Advice(
            what="pinning",
            found="a process moves between CPUs",
            how='set pin = "auto" in [measure]',
            noise_floor=(floors[CPU], floors[PINNED]),
        )
    for check in checks:
        if check.state is State.WARN and check.remedy:
            yield Advice(what=check.name, found=check.found, how=check.remedy)


def lines(all_advice: Sequence[Advice]) -> Iterator[str]:
    """What to change, each with how to and what it saves where that was measured."""
    if not all_advice:
        yield "Nothing that was checked on this machine adds noise."
        return
    yield "To lower the noise:"
    for each in all_advice:
        yield f"  {each.what}: {each.how}{_saved(each)}"


def _saved(each: Advice) -> str:
    if each.noise_floor is None:
        return " (what it saves was not measured)"
    before, after = map(units.share, each.noise_floor)
    return f" (measured: a noise floor of {after} instead of {before})"
