"""Datasets as tables."""

import time
from collections.abc import Mapping, Sequence

from anubis.cli import terminal
from anubis.cli.views import tables, units
from anubis.contracts.datasets import DataPlan, FetchProgress, PlannedDataset, StoredDataset

#: Digits of a digest in a table.
_DIGITS = 12
#: Files of a dataset that are printed; ``--json`` has all.
_MOST_FILES = 20


def show(found: Sequence[StoredDataset]) -> None:
    """A table of datasets."""
    columns = (
        tables.Column(title="DIGEST"),
        tables.Column(title="SIZE", right=True),
        tables.Column(title="FILES", right=True),
        tables.Column(title="USED"),
        tables.Column(title="SOURCE", cut=True),
    )
    now_s = time.time()
    tables.show(columns, [_row(stored, now_s) for stored in found])


def show_plan(plan: DataPlan) -> None:
    """The data to fetch with their sizes, and the space for them."""
    columns = (
        tables.Column(title="DATA TO FETCH", cut=True),
        tables.Column(title="SIZE", right=True),
        tables.Column(title="IN THE CACHE", right=True),
    )
    terminal.line()
    tables.show(columns, [_planned_row(planned) for planned in plan.sources])
    size, left = plan.size_bytes, plan.fetch_bytes
    total = (
        "not known" if size is None or left is None else f"{units.size(size)}, {units.size(left)} to fetch"
    )
    terminal.line(f"total: {total}; free on the disk of the cache: {units.size(plan.free_bytes)}")
    for planned in plan.sources:
        if planned.problem:
            terminal.warn(planned.problem)
    if left is not None and left > plan.free_bytes:
        terminal.warn("the disk of the cache has too little space for these data")


def _planned_row(planned: PlannedDataset) -> list[tables.Cell]:
    size = "not known" if planned.size_bytes is None else units.size(planned.size_bytes)
    return [planned.src, size, units.size(planned.stored_bytes)]


def show_one(stored: StoredDataset) -> None:
    """Details of a dataset."""
    dataset = stored.dataset
    rows = [
        ("source", stored.src),
        ("digest", dataset.digest if dataset else f"not complete: {progress(stored.progress)}"),
        ("declared", stored.declared),
        ("size", units.size(dataset.size_bytes) if dataset else ""),
        ("files", str(len(dataset.files)) if dataset else ""),
        ("unpacked", "yes" if stored.unpacked else ""),
        ("fetched", units.moment(stored.fetched_s)),
        ("used", units.moment(stored.used_s)),
    ]
    for line in tables.pairs((name, value) for name, value in rows if value):
        terminal.line(line)
    files = dataset.files if dataset and dataset.is_folder else ()
    for file in files[:_MOST_FILES]:
        terminal.line(f"  {units.size(file.size_bytes):>9}  {file.sha256[:_DIGITS]}  {file.path}")
    if len(files) > _MOST_FILES:
        terminal.line(f"  and {units.counted(len(files) - _MOST_FILES, 'more file')}: add --json")


def show_verified(damaged: Mapping[str, Sequence[str]]) -> None:
    """What a verification found, by digest."""
    for digest, paths in damaged.items():
        short = digest.partition(":")[2][:_DIGITS]
        if paths:
            names = ", ".join(path or "its content" for path in paths[:_MOST_FILES])
            terminal.line(f"{short}  damaged or missing, deleted: {names}")
        else:
            terminal.line(f"{short}  intact")
    if not damaged:
        terminal.line("no datasets")


def progress(fetched: FetchProgress) -> str:
    """How far a dataset is: ``40.1 % of 1.20 GiB``."""
    if not fetched.size_bytes:
        return f"{units.size(fetched.done_bytes)} fetched"
    return f"{units.share(fetched.done_bytes / fetched.size_bytes)} of {units.size(fetched.size_bytes)}"


def _row(stored: StoredDataset, now_s: float) -> list[tables.Cell]:
    dataset = stored.dataset
    used = units.short_moment(stored.used_s, now_s=now_s)
    if dataset is None:
        return ["", progress(stored.progress), "", used, stored.src]
    digits = dataset.digest.partition(":")[2][:_DIGITS]
    return [digits, units.size(dataset.size_bytes), str(len(dataset.files)), used, stored.src]
