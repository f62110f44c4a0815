"""Rules between the fields of a descriptor.

A rule reads the plain tree, not the Descriptor, so that it speaks even where another field is wrong; it keeps silent
about values of the wrong kind, which the door reports.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from anubis.describe.check.limits import quoted
from anubis.describe.check.validation import missing
from anubis.describe.findings import Findings, Remark
from anubis.describe.instances import Instances, find
from anubis.describe.paths import METRIC_LISTS, SOURCE_LISTS, Path, get, shown
from anubis.model.descriptor import DEFAULT_ENGINE
from anubis.model.hardware import LOCAL, Strategy
from anubis.model.problem import Severity

#: Engines on which a descriptor may name no image: they run, or may run, the machine's own programs.
_WITHOUT_IMAGE = (DEFAULT_ENGINE, "process")

RuleFindings = Iterator[tuple[Path, Remark]]


def check_rules(
    tree: Mapping[str, Any], findings: Findings, *, lenient: bool, instances: Instances | None = None
) -> None:
    """Apply every rule to a tree in the model's shape. ``lenient``: the rules of old files."""
    found = chain(
        _description(tree, lenient=lenient),
        _image(tree, lenient=lenient),
        _server(tree),
        _distributed(tree, instances, lenient=lenient),
        _zones(tree),
        _sources(tree, lenient=lenient),
        _metrics(tree),
        _framework(tree),
    )
    for path, remark in found:
        findings.add(path, remark)


def _warning(message: str, remedy: str) -> Remark:
    return Remark(message=message, remedy=remedy, severity=Severity.WARNING)


def _table(tree: Mapping[str, Any], *path: str | int) -> dict[str, Any]:
    found = get(tree, path)
    return found if isinstance(found, dict) else {}


def _tables(tree: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    entries = get(tree, path)
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict):
            yield (*path, index), entry


def _description(tree: Mapping[str, Any], *, lenient: bool) -> RuleFindings:
    if lenient and "description" not in _table(tree, "info"):
        yield ("info", "description"), missing(("info", "description"))


def _image(tree: Mapping[str, Any], *, lenient: bool) -> RuleFindings:
    if "docker_image" in _table(tree, "env"):
        return
    engine = _table(tree, "info").get("execution_engine", DEFAULT_ENGINE)
    if lenient or engine not in _WITHOUT_IMAGE:
        yield ("env", "docker_image"), missing(("env", "docker_image"))
    elif "benchmark_code" not in _table(tree, "ml"):
        remark = missing(("ml", "benchmark_code"))
        yield (
            ("ml", "benchmark_code"),
            replace(remark, message="there is nothing to run: neither a command nor an image"),
        )


def _server(tree: Mapping[str, Any]) -> RuleFindings:
    inference = get(tree, ("hardware", "strategy")) == Strategy.INFERENCE
    if inference and "server" not in tree:
        message = 'strategy = "inference" needs a server to ask'
        yield (
            ("hardware", "strategy"),
            Remark(
                message=message, remedy="add [server.hardware] and [server.env], or choose another strategy"
            ),
        )
    if not inference and "server" in tree:
        yield (
            ("server",),
            _warning("the server is not used", 'write strategy = "inference" in [hardware] to use it'),
        )
    ports = get(tree, ("server", "env", "ports"))
    if ports == []:
        yield ("server", "env", "ports"), Remark(message="the server has no port", remedy="ports = [8080]")
    elif isinstance(ports, list):
        seen = set()
        for index, port in enumerate(ports):
            if isinstance(port, int) and port in seen:
                path = ("server", "env", "ports", index)
                yield path, Remark(message=f"port {port} is listed twice", remedy="remove one")
            elif isinstance(port, int):
                seen.add(port)


def _distributed(tree: Mapping[str, Any], instances: Instances | None, *, lenient: bool) -> RuleFindings:
    path: Path = ("hardware", "distributed")
    hardware, distributed = _table(tree, "hardware"), _table(tree, *path)
    if not distributed:
        return
    strategy = hardware.get("strategy", Strategy.SINGLE_NODE)
    if strategy == Strategy.SINGLE_NODE:
        yield (
            path,
            _warning(
                'it is not used: the strategy is "single_node"', "choose another strategy, or remove it"
            ),
        )
    processes = distributed.get("processes_per_instance", "1")
    if strategy == Strategy.HOROVOD and distributed.get("num_instances") == 1 and processes == "1":
        remark = Remark(
            message="horovod on one instance with one process distributes nothing",
            remedy="raise num_instances or processes_per_instance",
            severity=Severity.WARNING if lenient else Severity.ERROR,
        )
        yield (*path, "num_instances"), remark
    if processes == "gpus":
        yield from _a_process_for_each_gpu(hardware, (*path, "processes_per_instance"), instances)


def _a_process_for_each_gpu(hardware: dict[str, Any], path: Path, instances: Instances | None) -> Found:
    """The GPUs of this machine are counted when the run is placed; those of other machines must be known before."""
    instance_type, gpus = hardware.get("instance_type"), _gpus(hardware, instances)
    if gpus == 0:
        message = f"{quoted(instance_type)} has no GPU, so there is no process for each"
        yield path, Remark(message=message, remedy="choose a machine with GPUs, or write a number")
    elif gpus is None and isinstance(instance_type, str) and instance_type != LOCAL:
        message = f"the number of GPUs of {quoted(instance_type)} is not known"
        yield (
            path,
            Remark(message=message, remedy="state it as hardware.gpus, or write a number of processes"),
        )


def _gpus(hardware: dict[str, Any], instances: Instances | None) -> int | None:
    """GPUs of the requested machine; None if unknown."""
    stated, instance_type = hardware.get("gpus"), hardware.get("instance_type")
    if isinstance(stated, int):
        return stated
    instance = find(instance_type, instances) if isinstance(instance_type, str) else None
    return None if instance is None else instance.gpus


def _zones(tree: Mapping[str, Any]) -> RuleFindings:
    hardware = _table(tree, "hardware")
    name, zone_id = hardware.get("availability_zone"), hardware.get("aws_zone_id")
    if not isinstance(name, str) or not isinstance(zone_id, str):
        return
    region = region_code(name)
    if region is not None and zone_id.partition("-")[0] != region:
        message = f"{quoted(name)} and {quoted(zone_id)} lie in two regions"
        yield ("hardware", "aws_zone_id"), Remark(message=message, remedy="keep one of the two")


def region_code(zone_name: str) -> str | None:
    """How zone ids begin in the region of a zone: ``use1`` for us-east-1a; None when the name is no zone's.

    Which zone of the region an id is differs from account to account, so no more can be compared here.
    """
    match = re.match(r"([a-z]{2}(?:-gov|-iso[a-z]?)?)-([a-z]+)-(\d)", zone_name)
    if match is None:
        return None
    directions = re.findall("north|south|east|west|central", match[2])
    if "".join(directions) != match[2]:
        return None
    area = match[1].replace("-gov", "g").replace("-iso", "i")
    return area + "".join(direction[0] for direction in directions) + match[3]


def _sources(tree: Mapping[str, Any], *, lenient: bool) -> RuleFindings:
    for listed in SOURCE_LISTS:
        first: dict[str, tuple[Path, Any]] = {}
        for path, source in _tables(tree, listed):
            target = source.get("path")
            if not isinstance(target, str):
                continue
            place = posixpath.normpath(target)
            if place in first:
                yield (*path, "path"), _shared(source, place, *first[place], lenient=lenient)
            else:
                first[place] = (path, source.get("src"))


def _shared(source: dict[str, Any], place: str, other: Path, src: Any, *, lenient: bool) -> Remark:
    """Two sources at one path. The old system put their files into one folder, and old files rely on it."""
    both = f"{quoted(source.get('src'))} and {quoted(src)} ({shown(other)})"
    if lenient:
        message = f"{both} share {quoted(place)}, where a file of one may replace a file of the other"
        return _warning(message, "give each source a path of its own")
    message = f"{both} would both be at {quoted(place)}"
    return Remark(message=message, remedy="give each source a path of its own")


def _metrics(tree: Mapping[str, Any]) -> RuleFindings:
    first: dict[str, Path] = {}
    for listed in METRIC_LISTS:
        for path, metric in _tables(tree, listed):
            name = metric.get("name")
            if isinstance(name, str):
                if name in first:
                    message = f"the metric {quoted(name)} is declared twice, first as {shown(first[name])}"
                    yield (*path, "name"), Remark(message=message, remedy="rename one of them")
                first.setdefault(name, path)
            yield from _threshold((*path, "threshold"), _table(metric, "threshold"))


def _threshold(path: Path, threshold: dict[str, Any]) -> RuleFindings:
    low, high = threshold.get("min"), threshold.get("max")
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
        message = f"no value can be at least {low} and at most {high}"
        yield (*path, "max"), Remark(message=message, remedy="swap min and max")
    change, least = threshold.get("change"), threshold.get("min_effect")
    if isinstance(change, (int, float)) and isinstance(least, (int, float)) and change < least:
        message = f"a change of {change:.3g} can never be told: effects below {least:.3g} are ignored"
        yield (*path, "min_effect"), _warning(message, "make min_effect smaller than change")


def _framework(tree: Mapping[str, Any]) -> RuleFindings:
    ml = _table(tree, "ml")
    if "framework_version" in ml and not ml.get("framework"):
        message = "there is a framework_version but no framework"
        yield (
            ("ml", "framework_version"),
            Remark(message=message, remedy='add framework = "pytorch", for example'),
        )
