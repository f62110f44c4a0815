"""PerfKitBenchmarker: the samples it publishes as JSON lines (``perfkitbenchmarker_results.json``, ``--json_path``).

Format: https://github.com/GoogleCloudPlatform/PerfKitBenchmarker (perfkitbenchmarker/publisher.py, sample.py)
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from anubis.model.history import Measurement
from anubis.transfer import history_units, history_values
from anubis.transfer.history_formats import FileHead, Format, HistoryFile
from anubis.transfer.json_file import BROKEN, mapping, parse

_LABEL = re.compile(r"\|([^|:]*):(.*?)\|(?=,\||$)", re.DOTALL)
#: Facts about the machine, alone or behind the name of a group of machines (``client_machine_type``).
_FACTS = re.compile(
    r"(?:.*_)?(?:cloud|zone|region|machine_type|num_cpus|cpu_arch|cpu_version|os_type|numa_node_count)"
)
#: What differs from run to run, or from one patch of the same machine to the next, and so keeps no series apart.
_PASSING = re.compile(
    r"perfkitbenchmarker_version|run_number|(?:.*_)?(?:id|ids|ip|ips|ip_address|uri|uuid|hostname|names?|image|os_info"
    r"|kernel_release|kernel_command_line|start_time|end_time|timestamps?|boot_time|create_time)"
)
#: Samples with these hold their figures in the metadata; their value is a 0 that nobody measured.
_NO_VALUE = ("histogram", "values")
#: Longer texts are attachments (configurations, histograms), not parameters.
_LONGEST = 200


def detect(head: FileHead) -> bool:
    if head.is_folder:
        return False
    try:
        first = json.loads(head.text.lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and {"test", "metric", "value", "timestamp"} <= first.keys()


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """One measurement for each sample, line by line."""
    with reading.path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                sample = parse(line, reading.findings, line=number)
                if sample is not BROKEN:
                    yield from _of_sample(reading, sample, number)


def _of_sample(reading: HistoryFile, raw: Any, line: int) -> Iterator[Measurement]:
    findings = reading.findings
    sample = mapping(raw, findings, f"line {line}")
    if not sample:
        return
    metadata = _metadata(sample)
    if any(key in metadata for key in _NO_VALUE) and sample.get("value") == 0:
        findings.missing += 1
        return
    test, metric = history_values.text(sample.get("test")), history_values.text(sample.get("metric"))
    time_s = history_values.seconds(sample.get("timestamp"))
    if not test or not metric or time_s is None:
        findings.error(
            "the sample lacks a test, a metric or a valid timestamp",
            "complete the line, or delete it",
            line=line,
        )
        return
    value = reading.value(sample.get("value"), "value", line=line)
    if value is None:
        return
    unit = history_values.text(sample.get("unit")) or "none"
    yield Measurement(
        benchmark=test,
        metric=metric,
        value=value,
        units=unit,
        better=history_units.direction(unit),
        time_s=time_s,
        parameters={
            key: words
            for key, words in metadata.items()
            if len(words) <= _LONGEST and not _FACTS.fullmatch(key) and not _PASSING.fullmatch(key)
        },
        facts={key: words for key, words in metadata.items() if _FACTS.fullmatch(key)},
        run=history_values.text(sample.get("run_uri")),
    )


def _metadata(sample: dict[str, Any]) -> dict[str, str]:
    """What is known about a sample: an object, or collapsed into one text ``|key:value|,|key:value|``."""
    labels = sample.get("labels")
    if isinstance(labels, str):
        return history_values.texts(dict(_LABEL.findall(labels)))
    metadata = sample.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    kept = {
        key: value if isinstance(value, (str, int, float)) else json.dumps(value)
        for key, value in metadata.items()
    }
    return history_values.texts(kept)


FORMAT = Format(name="perfkit", title="PerfKitBenchmarker JSON lines", detect=detect, read=read)
