"""Text about series without a stable level."""

from anubis.analysis.quantities import common_scale, level_text, percent
from anubis.model.series import Instability, InstabilityKind

#: What to do about each kind.
_REMEDIES = {
    InstabilityKind.MODES: "find what differs between runs at these levels (placement, frequency, memory layout), or"
    " compare versions side by side with anubis check FILE --baseline FILE --rounds N",
    InstabilityKind.CYCLE: "find what has this period (time of day, scheduled work, caches), or compare versions side by"
    " side with anubis check FILE --baseline FILE --rounds N",
    InstabilityKind.WANDERING: "measure on a quieter machine, or compare versions side by side with"
    " anubis check FILE --baseline FILE --rounds N",
}


def instability_text(found: Instability, units: str) -> str:
    """The modes or the period, without a subject: ``alternates between 1 s (70 % of the points) and 1.2 s (30 %)``."""
    if found.kind is InstabilityKind.CYCLE and found.period is not None:
        return f"repeats about every {found.period:.0f} points"
    if found.kind is InstabilityKind.WANDERING:
        return "wanders: neighbouring points are alike, but no level lasts"
    factor, unit = common_scale([mode.level for mode in found.modes], units)
    levels = [
        f"{level_text(mode.level * factor)} {unit}".rstrip() + f" ({percent(mode.share, digits=0)} %"
        for mode in found.modes
    ]
    first, *others = [
        f"{level} of the points)" if at == 0 else f"{level})" for at, level in enumerate(levels)
    ]
    return f"alternates between {', '.join([first, *others[:-1]])} and {others[-1]}"


def instability_remedy(found: Instability) -> str:
    """What to do about it, in the imperative."""
    return _REMEDIES[found.kind]
