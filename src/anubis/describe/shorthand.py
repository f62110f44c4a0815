"""Shorthand forms of values, converted to the one form that the model has.

``change = "5%"`` is a ratio, a probe may be a URL, ``md5`` is one kind of digest, processes may be a number. The
conversion is idempotent, so a tree made from a Descriptor stays unchanged.
"""

import re
from typing import Any
from urllib.parse import urlsplit

from anubis.describe.check.limits import quoted
from anubis.describe.paths import METRIC_LISTS, SOURCE_LISTS, Path, get
from anubis.describe.rewriting import Move, Put, Remove, Rewriter

_PERCENT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")


def normalise(rewriter: Rewriter) -> None:
    """Convert every shorthand form in the tree. Invalid values are reported and removed."""
    _processes(rewriter)
    for probe in ("readiness_probe", "liveness_probe"):
        _probe(rewriter, ("server", "env", probe))
    for path in SOURCE_LISTS:
        for index, source in enumerate(rewriter.items(*path)):
            if isinstance(source, dict):
                _digest(rewriter, (*path, index), source)
    for path in METRIC_LISTS:
        for index in range(len(rewriter.items(*path))):
            threshold: Path = (*path, index, "threshold")
            for key in ("change", "min_effect"):
                _ratio(rewriter, (*threshold, key), rewriter.table(*threshold).get(key))


def _processes(rewriter: Rewriter) -> None:
    value = rewriter.table("hardware", "distributed").get("processes_per_instance")
    if isinstance(value, int) and not isinstance(value, bool):
        path = ("hardware", "distributed", "processes_per_instance")
        rewriter.apply(Put(path=path, value=str(value)))


def _probe(rewriter: Rewriter, path: Path) -> None:
    probe = get(rewriter.tree, path)
    if isinstance(probe, dict) and isinstance(probe.get("scheme"), str):
        rewriter.apply(Put(path=(*path, "scheme"), value=probe["scheme"].lower()))
    if not isinstance(probe, str):
        return
    table = _probe_table(probe)
    if table is None:
        remedy = f'write a URL such as {path[-1]} = "http://localhost:8080/ping", or a table'
        rewriter.findings.error(path, f"{quoted(probe)} is not a valid http or https URL or path", remedy)
        rewriter.apply(Remove(path=path))
        return
    rewriter.apply(Put(path=path, value=table))


def _probe_table(url: str) -> dict[str, Any] | None:
    """The URL of a probe, or its path alone, as a table. The host is always the server."""
    if url.startswith("/"):
        return {"path": url}
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc or port == 0:
        return None
    table: dict[str, Any] = {
        "scheme": parts.scheme,
        "path": (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    }
    return table if port is None else {**table, "port": port}


def _digest(rewriter: Rewriter, path: Path, source: dict[str, Any]) -> None:
    digest, md5 = source.get("digest"), source.get("md5")
    if isinstance(digest, str):
        rewriter.apply(Put(path=(*path, "digest"), value=digest.lower()))
    if not isinstance(md5, str):
        return
    at = (*path, "md5")
    if re.fullmatch("[0-9a-fA-F]{32}", md5) is None:
        remedy = 'write the 32 hex digits, or remove the key; other digests: digest = "sha256:..."'
        rewriter.findings.error(at, f"{quoted(md5)} is not an MD5 digest", remedy)
        rewriter.apply(Remove(path=at))
    elif "digest" not in source:
        rewriter.apply(Move(path=at, to=(*path, "digest")))
        rewriter.apply(Put(path=(*path, "digest"), value=f"md5:{md5.lower()}"))
    else:
        if digest != f"md5:{md5.lower()}" and not str(digest).startswith("sha256:"):
            rewriter.findings.error(at, "`md5` and `digest` differ", "keep one of them")
        rewriter.apply(Remove(path=at))


def _ratio(rewriter: Rewriter, path: Path, value: Any) -> None:
    if not isinstance(value, str):
        return
    match = _PERCENT.fullmatch(value)
    if match is None:
        rewriter.findings.error(
            path, f"{quoted(value)} is not a percentage or a ratio", f'write {path[-1]} = "5%" or 0.05'
        )
        rewriter.apply(Remove(path=path))
        return
    rewriter.apply(Put(path=path, value=ratio(match[1])))


def ratio(percent: str) -> float:
    """The ratio of a percentage given in digits, correctly rounded: "5" is 0.05, not 5 * 0.01."""
    return float(f"{percent}e-2")
