"""Old spellings: the documents, schema and code of the old system differed, and files of every kind exist.

In an old file (``spec_version = "0.1.0"``) each is replaced and reported as a warning; in a new file it is an error.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from anubis.describe.check.limits import quoted
from anubis.describe.check.validation import missing
from anubis.describe.paths import METRIC_LISTS, SOURCE_LISTS, Path
from anubis.describe.rewriting import Move, Put, Remove, Rewriter
from anubis.model.hardware import Strategy
from anubis.model.labels import is_label, slug
from anubis.model.problem import Severity

STRATEGIES = {
    "client_server": Strategy.INFERENCE,
    "mxnet_parameter_server": Strategy.PARAMETER_SERVER,
    "single-node": Strategy.SINGLE_NODE,
    "client-server": Strategy.INFERENCE,
    "parameter-server": Strategy.PARAMETER_SERVER,
}
PROBES = {
    "ready_probe": "readiness_probe",
    "live_probe": "liveness_probe",
    "liveliness_probe": "liveness_probe",
}


def respell(rewriter: Rewriter) -> None:
    """Replace every old spelling in the tree by that of 1.0."""
    _name(rewriter)
    _image(rewriter)
    respell_strategy(rewriter)
    _hardware(rewriter)
    _probes(rewriter)
    for path, source in _entries(rewriter, SOURCE_LISTS):
        _source(rewriter, path, source)
    if "id" in rewriter.table("data"):
        rewriter.deviation(
            ("data", "id"), "`data.id` is no longer used", "remove it", Remove(path=("data", "id"))
        )
    _metrics(rewriter)


def is_old(tree: dict[str, Any]) -> bool:
    """Whether a file without a known version looks like an old one: old files have no ``info.name``."""
    info = tree.get("info")
    return isinstance(info, dict) and "name" not in info and bool({"task_name", "labels"} & info.keys())


def _entries(rewriter: Rewriter, lists: tuple[Path, ...]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in lists:
        for index, entry in enumerate(rewriter.items(*path)):
            if isinstance(entry, dict):
                yield (*path, index), entry


def _name(rewriter: Rewriter) -> None:
    info, labels = rewriter.table("info"), rewriter.table("info", "labels")
    old: list[Path] = []
    if isinstance(labels.get("task_name"), str):
        old.append(("info", "labels", "task_name"))
    if isinstance(info.get("task_name"), str):
        old.append(("info", "task_name"))
    if old and "name" not in info:
        path = old.pop(0)
        text = labels["task_name"] if path[1] == "labels" else info["task_name"]
        name = slug(text) or "benchmark"
        edits = [Move(path=path, to=("info", "name"))]
        rewriter.deviation(
            path, f"`{path[-1]}` is an old spelling", f'write name = "{name}" in [info]', *edits
        )
        if not is_label(text):
            rewriter.silently(Put(path=("info", "name"), value=name))
    for path in old:
        rewriter.deviation(
            path, "this key is ignored: the benchmark already has a name", "remove it", Remove(path=path)
        )
    if rewriter.lenient and "name" not in info and isinstance(info.get("description"), str):
        _name_after_description(rewriter, info["description"])


def _name_after_description(rewriter: Rewriter, description: str) -> None:
    name = slug(description.lower()) or "benchmark"
    rewriter.deviation(
        ("info", "name"),
        f"the benchmark has no name; {name!r} is derived from its description",
        f'add name = "{name}" to [info]',
        Put(path=("info", "name"), value=name),
    )


def _image(rewriter: Rewriter) -> None:
    if rewriter.table("info").get("execution_engine") != "aws.ec2":
        return
    for path in (("env", "image"), ("aws", "ec2", "image")):
        if isinstance(rewriter.table(*path[:-1]).get("image"), str) and "docker_image" not in rewriter.table(
            "env"
        ):
            target = ("env", "docker_image")
            rewriter.deviation(
                path,
                "`image` is an old spelling",
                "write docker_image in [env]",
                Move(path=path, to=target),
            )
    if rewriter.tree.get("aws") == {"ec2": {}}:
        rewriter.silently(Remove(path=("aws",)))


def respell_strategy(rewriter: Rewriter) -> None:
    """Replace old names of strategies; they are accepted in new files too, with a warning."""
    strategy = rewriter.table("hardware").get("strategy")
    if isinstance(strategy, str) and strategy in STRATEGIES:
        new = STRATEGIES[strategy].value
        path: Path = ("hardware", "strategy")
        message = f'"{strategy}" is an old spelling of "{new}"'
        rewriter.deviation(
            path, message, f'write "{new}"', Put(path=path, value=new), severity=Severity.WARNING
        )


def _hardware(rewriter: Rewriter) -> None:
    path: Path = ("hardware", "distributed", "num_instances")
    instances = rewriter.table("hardware", "distributed").get("num_instances")
    if isinstance(instances, str) and re.fullmatch("[0-9]{1,9}", instances):
        number = int(instances)
        rewriter.deviation(
            path, "a number in quotes is an old spelling", f"write {number}", Put(path=path, value=number)
        )
    for key in ("availability_zone", "aws_zone_id"):
        if key in rewriter.table("server", "hardware"):
            path = ("server", "hardware", key)
            rewriter.deviation(
                path,
                "this key is not used: the server always runs in the client's zone",
                "remove it",
                Remove(path=path),
            )


def _probes(rewriter: Rewriter) -> None:
    env = rewriter.table("server", "env")
    for old, new in PROBES.items():
        if old in env and new not in env:
            path: Path = ("server", "env", old)
            edit = Move(path=path, to=("server", "env", new))
            rewriter.deviation(path, f"`{old}` is an old spelling", f"write `{new}`", edit)
    for probe in ("readiness_probe", "liveness_probe"):
        table = rewriter.table("server", "env", probe)
        if "timout_seconds" in table and "timeout_seconds" not in table:
            path = ("server", "env", probe, "timout_seconds")
            edit = Move(path=path, to=(*path[:-1], "timeout_seconds"))
            rewriter.deviation(path, "`timout_seconds` is misspelt", "write `timeout_seconds`", edit)


def _source(rewriter: Rewriter, path: Path, source: dict[str, Any]) -> None:
    if "uri" in source:
        _uri(rewriter, (*path, "uri"), source)
    target = source.get("path")
    if rewriter.lenient and isinstance(target, str) and target and not target.startswith("/"):
        absolute = f"/root/{target[2:]}" if target.startswith("~/") else f"/{target}"
        rewriter.deviation(
            (*path, "path"),
            f"{quoted(target)} is not an absolute path; {quoted(absolute)} is used",
            f"write {quoted(absolute)}, or the absolute path that the benchmark reads",
            Put(path=(*path, "path"), value=absolute),
        )
    md5 = source.get("md5")
    if isinstance(md5, str):
        _md5(rewriter, path, source, md5)


def _md5(rewriter: Rewriter, path: Path, source: dict[str, Any], md5: str) -> None:
    at = (*path, "md5")
    if md5 == "" and rewriter.lenient:
        rewriter.silently(Remove(path=at))
    elif md5.lower().startswith(("md5:", "sha256:")) and "digest" not in source:
        remedy = f"write digest = {quoted(md5.lower())}"
        move = Move(path=at, to=(*path, "digest"))
        rewriter.deviation(at, "`md5` contains a digest with an algorithm prefix", remedy, move)
        if md5 != md5.lower():
            rewriter.silently(Put(path=(*path, "digest"), value=md5.lower()))


def _uri(rewriter: Rewriter, path: Path, source: dict[str, Any]) -> None:
    if "src" not in source:
        edit = Move(path=path, to=(*path[:-1], "src"))
        rewriter.deviation(path, "`uri` is an old spelling", "write `src`", edit)
        return
    if source["uri"] == source["src"]:
        rewriter.deviation(path, "`uri` is an old spelling and repeats `src`", "remove it", Remove(path=path))
        return
    message = f"`uri` and `src` have different values: {quoted(source['uri'])} and {quoted(source['src'])}"
    rewriter.findings.error(path, message, "keep one of them, as `src`")
    rewriter.apply(Remove(path=path))


def _metrics(rewriter: Rewriter) -> None:
    for path in METRIC_LISTS:
        names = rewriter.items(*path)
        if names and all(isinstance(name, str) for name in names):
            rewriter.deviation(
                path,
                "a list of names is an old spelling of metrics",
                "write one [[output.metrics]] with name and units for each; without a pattern, emit() gives its values",
                Put(path=path, value=[{"name": name, "units": "none", "required": False} for name in names]),
            )
    for path, metric in _entries(rewriter, METRIC_LISTS):
        if "units" not in metric:
            _units(rewriter, (*path, "units"))
        if rewriter.lenient and "required" not in metric:
            rewriter.silently(Put(path=(*path, "required"), value=False))


def _units(rewriter: Rewriter, path: Path) -> None:
    if not rewriter.lenient:
        remark = missing(path)
        rewriter.findings.add(path, replace(remark, remedy=f'{remark.remedy}; "none" for a plain number'))
        return
    rewriter.deviation(
        path,
        "the metric has no units",
        'write units = "none" if it is a plain number',
        Put(path=path, value="none"),
    )
