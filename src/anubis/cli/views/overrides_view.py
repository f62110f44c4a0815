"""The overrides (``--set``) of runs, which are not in their descriptor files."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from anubis.cli.views import units
from anubis.contracts.runs import RunQuery

if TYPE_CHECKING:
    from anubis.client import Client


def overrides_text(overrides: Mapping[str, str]) -> str:
    """``ml.batch=64, measure.repeats=3``; empty without overrides."""
    return ", ".join(f"{path}={value}" for path, value in overrides.items())


def overrides_of(client: "Client", run_ids: Sequence[str]) -> list[dict[str, str]]:
    """The overrides of each of these runs, in the order of submission."""
    rows = (
        client.runs.find(RunQuery(ids=tuple(run_ids), limit=len(run_ids), newest_first=False))
        if run_ids
        else ()
    )
    return [row.overrides for row in rows]


def side_lines(
    baseline: Sequence[Mapping[str, str]], contender: Sequence[Mapping[str, str]]
) -> Iterator[str]:
    """The overrides of both sides of a comparison; one line if all runs have the same."""
    old, new = Counter(map(overrides_text, baseline)), Counter(map(overrides_text, contender))
    if old.keys() == new.keys() and len(old) == 1:
        if text := next(iter(old)):
            yield f"overrides: {text}"
        return
    for side, texts in (("baseline", old), ("contender", new)):
        for text, count in texts.items():
            runs = "" if len(texts) == 1 else f" ({units.counted(count, 'run')})"
            yield f"overrides of the {side}: {text or 'none'}{runs}"
