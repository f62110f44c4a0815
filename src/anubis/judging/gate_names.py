"""Names of the compared benchmarks, and which of them are the same benchmark."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from anubis.model.identity import series_key
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


def same_benchmark(run: Run, candidates: Mapping[str, Run]) -> set[str]:
    """The series of the baseline that a run is compared with.

    The same series; else the series that differ only in labels; else the only series with the same name.
    """
    if run.series_key in candidates:
        return {run.series_key}
    name = run.descriptor.info.name
    named = {key: one for key, one in candidates.items() if one.descriptor.info.name == name}
    alike = {key for key, one in named.items() if _without_labels(one) == _without_labels(run)}
    return alike or (set(named) if len(named) == 1 else set())


def _without_labels(run: Run) -> str:
    return series_key(replace(run.descriptor, info=replace(run.descriptor.info, labels={})))
