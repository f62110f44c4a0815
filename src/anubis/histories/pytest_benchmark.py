"""pytest-benchmark: what ``--benchmark-json`` and ``--benchmark-save`` write.

Format: https://pytest-benchmark.readthedocs.io
"""

from collections.abc import Iterator
from typing import Any

from anubis.model.history import Measurement
from anubis.model.metric import Better
from anubis.transfer import history_values
from anubis.transfer.history_formats import FileHead, Format, HistoryFile
from anubis.transfer.json_file import BROKEN, listing, mapping, parse


def detect(head: FileHead) -> bool:
    return '"machine_info"' in head.text or ('"benchmarks"' in head.text and '"fullname"' in head.text)


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """The median time of each benchmark, with the standard deviation over its rounds."""
    findings = reading.findings
    document = parse(reading.path.read_bytes(), findings)
    if document is BROKEN:
        return
    document = mapping(document, findings, "")
    time_s = history_values.seconds(document.get("datetime"))
    if time_s is None and document:
        time_s = reading.time_s()
    if time_s is None:
        return
    commit = history_values.texts(document.get("commit_info"))
    dirty = "-dirty" if commit.get("dirty") == "true" and commit.get("id") else ""
    facts = _facts(document.get("machine_info"))
    for position, entry in enumerate(listing(document.get("benchmarks"), findings, "benchmarks")):
        path = f"benchmarks[{position}]"
        bench = mapping(entry, findings, path)
        stats = mapping(bench.get("stats"), findings, f"{path}.stats") if bench else {}
        name = history_values.text(bench.get("fullname") or bench.get("name"))
        if not stats or not name:
            continue
        value = reading.value(stats.get("median"), f"{path}.stats.median")
        if value is None:
            continue
        repeats = history_values.count(stats.get("rounds"))
        parameters = history_values.texts(bench.get("params"))
        yield Measurement(
            benchmark=name.removesuffix(f"[{history_values.text(bench.get('param'))}]")
            if parameters
            else name,
            metric="time",
            value=value,
            units="s",
            better=Better.LOWER,
            spread=history_values.soft_number(stats.get("stddev")) if repeats > 1 else None,
            count=repeats,
            time_s=time_s,
            commit_s=history_values.seconds(commit.get("time")),
            commit=commit.get("id", "") + dirty,
            parameters=parameters,
            labels=history_values.texts(bench, ("group",)),
            facts=facts,
        )


def _facts(machine: Any) -> dict[str, str]:
    """What must match: processor, cores and interpreter; host name and kernel change while the machine does not."""
    facts = history_values.texts(machine, ("machine", "system", "python_implementation", "python_version"))
    cpu = machine.get("cpu") if isinstance(machine, dict) else None
    for key, names in {"cpu": ("brand_raw", "brand"), "cores": ("count",)}.items():
        found = history_values.texts(cpu, names)
        if found:
            facts[key] = next(iter(found.values()))
    return facts


FORMAT = Format(name="pytest-benchmark", title="pytest-benchmark JSON", detect=detect, read=read)
