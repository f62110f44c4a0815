"""Names of the compared benchmarks."""

from collections import Counter
from collections.abc import Iterable, Iterator

from anubis.model.run import Run


def names(compared: Iterable[tuple[Run, str, str]]) -> Iterator[str]:
    """The display name of each benchmark, given by a run, the series key and the fingerprint of the machine.

    Parameters or the machine are added if several have the same name.
    """
    compared = list(compared)
    count = Counter(run.descriptor.info.name for run, _, _ in compared)
    keys = Counter(key for _, key, _ in compared)
    for run, key, fingerprint in compared:
        name = run.descriptor.info.name
        parts = _parameters(run) if count[name] > keys[key] else []
        if keys[key] > 1:
            parts.append(f"machine {fingerprint[:8]}")
        yield f"{name} ({', '.join(parts)})" if parts else name


def _parameters(run: Run) -> list[str]:
    """The matrix coordinates of a run in its family, or its labels if it has no family."""
    coordinates = {
        name.rpartition(".")[2]: value for name, value in run.cell.items() if name not in {"round", "file"}
    }
    return [f"{name}={value}" for name, value in (coordinates or run.descriptor.info.labels).items()]
