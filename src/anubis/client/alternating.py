"""The rounds of an alternation, measured and judged until it ends, with any client."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from anubis.client.protocol.tools import Alternations

if TYPE_CHECKING:
    from anubis.alternation.judgement import State
    from anubis.alternation.plan import Alternation


def proceed(
    alternations: Alternations,
    alternation: "Alternation",
    *,
    measure: Callable[[Sequence[str]], object],
    judged: "Callable[[State], None] | None" = None,
) -> "State":
    """See ``Alternations.proceed`` of the protocol; ``measure`` waits for the runs with these ids."""
    while True:
        unfinished = [row.id for row in alternation.runs if not row.status.final]
        if unfinished:
            measure(unfinished)
        state = alternations.state(alternation.family_id)
        if judged:
            judged(state)
        if state.end is not None:
            return state
        alternation = alternations.extend(state.alternation.family_id, after=state.alternation.rounds)
