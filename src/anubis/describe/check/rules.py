"""Rules between the fields of a descriptor.

A rule reads the plain tree, not the Descriptor, so that it also works if another field is wrong; it ignores values of
the wrong type, which the validation reports.
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
from anubis.model.descriptor import secret_name
from anubis.model.hardware import LOCAL, Strategy
from anubis.model.problem import Severity

#: Strategies in which one replica is executed repeatedly, so that it alone decides when its warm-up ends.
_ONE_SERIES = (Strategy.SINGLE_NODE, Strategy.INFERENCE)
RuleFindings = Iterator[tuple[Path, Remark]]


def check_rules(
    tree: Mapping[str, Any], findings: Findings, *, lenient: bool, instances: Instances | None = None
) -> None:
    """Apply every rule to a tree in the shape of the model. ``lenient``: the rules of old files."""
    found = chain(
        _description(tree, lenient=lenient),
        _image(tree, lenient=lenient),
        _server(tree),
        _distributed(tree, instances, lenient=lenient),
        _zones(tree),
        _sources(tree, lenient=lenient),
        _metrics(tree),
        _framework(tree),
        _measure(tree),
        _secrets(tree),
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
    if lenient:
        yield ("env", "docker_image"), missing(("env", "docker_image"))
    elif "benchmark_code" not in _table(tree, "ml"):
        remark = missing(("ml", "benchmark_code"))
        yield (
            ("ml", "benchmark_code"),
            replace(remark, message="the descriptor has neither a command nor an image to run"),
        )


def _secrets(tree: Mapping[str, Any]) -> RuleFindings:
    """Every user of the machine can read command lines."""
    named = get(tree, ("env", "inherit"))
    inherited = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
    for section, names, commands in (
        (("env",), inherited, (("ml", "benchmark_code"), ("ml", "args"))),
        (
            ("server", "env"),
            [],
            (("server", "env", "start_command"), ("server", "env", "start_command_args")),
        ),
    ):
        variables = _table(tree, *section, "vars")
        secrets = {*names, *(name for name, value in variables.items() if _is_secret(value))}
        for path in commands:
            command = get(tree, path)
            for name in sorted(secrets) if isinstance(command, str) else ():
                if f"${{{name}}}" in command or f"$({name})" in command:
                    yield (
                        path,
                        Remark(
                            message=f"the secret {quoted(name)} must not be on the command line",
                            remedy="let the program read it from its environment",
                        ),
                    )


def _is_secret(value: Any) -> bool:
    return isinstance(value, str) and secret_name(value) is not None


def _server(tree: Mapping[str, Any]) -> RuleFindings:
    strategy = get(tree, ("hardware", "strategy"))
    if strategy == Strategy.INFERENCE and "server" not in tree:
        message = 'strategy = "inference" needs a server'
        yield (
            ("hardware", "strategy"),
            Remark(
                message=message, remedy="add [server.hardware] and [server.env], or choose another strategy"
            ),
        )
    if strategy not in (Strategy.INFERENCE, Strategy.PARAMETER_SERVER) and "server" in tree:
        yield (
            ("server",),
            _warning("the server is not used", 'write strategy = "inference" in [hardware] to use it'),
        )
    for name in ("readiness_probe", "liveness_probe"):
        probe = _table(tree, "server", "env", name)
        if "path" in probe and "command" in probe:
            message = "a probe is a request or a command, not both"
            yield ("server", "env", name, "command"), Remark(message=message, remedy="remove path or command")
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
                'this table is not used with strategy "single_node"', "choose another strategy, or remove it"
            ),
        )
    processes = distributed.get("processes_per_instance", "1")
    if strategy == Strategy.HOROVOD and distributed.get("num_instances") == 1 and processes == "1":
        remark = Remark(
            message="horovod needs more than one process",
            remedy="raise num_instances or processes_per_instance",
            severity=Severity.WARNING if lenient else Severity.ERROR,
        )
        yield (*path, "num_instances"), remark
    if processes == "gpus":
        yield from _one_for_each_gpu(hardware, (*path, "processes_per_instance"), instances)


def _one_for_each_gpu(hardware: dict[str, Any], path: Path, instances: Instances | None) -> RuleFindings:
    """The GPUs of this machine are counted when the run is placed; those of other machines must be known before."""
    instance_type, gpus = hardware.get("instance_type"), _gpus(hardware, instances)
    if gpus == 0:
        message = f'processes_per_instance is "gpus", but {quoted(instance_type)} has no GPU'
        yield path, Remark(message=message, remedy="choose a machine with GPUs, or write a number")
    elif gpus is None and isinstance(instance_type, str) and instance_type != LOCAL:
        message = f"the number of GPUs of {quoted(instance_type)} is not known"
        remedy = "state it as hardware.gpus, or write a number of processes"
        yield path, Remark(message=message, remedy=remedy)


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
        message = f"{quoted(name)} and {quoted(zone_id)} are in different regions"
        yield ("hardware", "aws_zone_id"), Remark(message=message, remedy="keep one of the two")


def region_code(zone_name: str) -> str | None:
    """The prefix of zone ids in the region of a zone: ``use1`` for us-east-1a; None if the name is not a zone.

    The mapping of zone ids to zones differs between accounts, so only the region can be compared.
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
    """The finding about two sources at one path, which the old system allowed and old files rely on."""
    both = f"{quoted(source.get('src'))} and {quoted(src)} ({shown(other)})"
    if lenient:
        message = f"{both} share the path {quoted(place)}: a file of one may replace a file of the other"
        return _warning(message, "give each source a different path")
    message = f"{both} have the same path {quoted(place)}"
    return Remark(message=message, remedy="give each source a different path")


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
        message = f"min {low} is larger than max {high}"
        yield (*path, "max"), Remark(message=message, remedy="swap min and max")
    change, least = threshold.get("change"), threshold.get("min_effect")
    if isinstance(change, (int, float)) and isinstance(least, (int, float)) and change < least:
        message = (
            f"a change of {change:.3g} is never reported: effects below min_effect = {least:.3g} are ignored"
        )
        yield (*path, "min_effect"), _warning(message, "make min_effect smaller than change")


def _framework(tree: Mapping[str, Any]) -> RuleFindings:
    ml = _table(tree, "ml")
    if "framework_version" in ml and not ml.get("framework"):
        message = "framework_version is set without a framework"
        yield (
            ("ml", "framework_version"),
            Remark(message=message, remedy='add framework = "pytorch", for example'),
        )


def _measure(tree: Mapping[str, Any]) -> RuleFindings:
    measure = _table(tree, "measure")
    pin, strategy = measure.get("pin"), get(tree, ("hardware", "strategy"))
    if isinstance(measure.get("numa"), int) and isinstance(pin, str) and pin not in ("", "auto"):
        message = f"pin = {quoted(pin)} and numa = {measure['numa']} both select CPUs"
        yield ("measure", "numa"), Remark(message=message, remedy='remove one of them, or write pin = "auto"')
    if measure.get("warmups") == "auto" and strategy not in (None, *_ONE_SERIES):
        message = f'warmups = "auto" is not available with strategy {quoted(strategy)}'
        remedy = "write a number: all replicas must execute the same warm-ups"
        yield ("measure", "warmups"), Remark(message=message, remedy=remedy)
