"""Limits of single values as data, used by the checks, the JSON Schema and the reference page."""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from anubis.describe import examples
from anubis.describe.findings import Remark
from anubis.describe.paths import Path
from anubis.model.labels import LABEL
from anubis.model.run import LONGEST_PAUSE_S

#: TOML integers have 64 bits.
LARGEST = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The limits of a value of the right type."""

    minimum: float | None = None
    #: The value must be larger than this.
    above: float | None = None
    maximum: float | None = None
    #: Maximum length of a text, in characters.
    longest: int | None = None
    #: Regular expression that the whole text must match, and its description.
    pattern: str | None = None
    meaning: str = ""

    def words(self) -> str:
        """The limit as text that follows "must be"."""
        if self.minimum is not None and self.maximum is not None:
            return f"between {self.minimum:g} and {self.maximum:,.10g}"
        if self.minimum is not None:
            return f"at least {self.minimum:g}"
        if self.above is not None and self.maximum is not None:
            return f"larger than {self.above:g} and at most {self.maximum:,.10g}"
        if self.above is not None:
            return f"larger than {self.above:g}"
        if self.pattern is not None:
            return self.meaning
        return f"at most {self.longest} characters long"

    def holds(self, value: Any) -> bool:
        if isinstance(value, str):
            fits = self.longest is None or len(value) <= self.longest
            return fits and (self.pattern is None or re.fullmatch(self.pattern, value) is not None)
        return (
            (self.minimum is None or value >= self.minimum)
            and (self.above is None or value > self.above)
            and (self.maximum is None or value <= self.maximum)
        )


_LABEL = Limit(
    pattern=LABEL,
    meaning="1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends",
)
_LABEL_VALUE = Limit(pattern=f"(?:{LABEL})?", meaning=f"empty, or {_LABEL.meaning}")
_NOT_EMPTY = Limit(pattern=r"[\s\S]*\S[\s\S]*", meaning="more than white space")
_ONE_WORD = Limit(pattern=r"\S+", meaning="one word without spaces")
_COUNT = Limit(minimum=1)
#: Maximum number of machines, processes and executions; larger values are typing errors.
_MANY = 100_000
_YEAR_S = 365 * 86_400
_COST = Limit(
    pattern=r"(?=.*[1-9].*)\d+(?:\.\d+)? ?[A-Z]{3}",
    meaning='an amount larger than 0 and a currency of three letters, such as "25 USD"',
)
_PORT = Limit(minimum=1, maximum=65535)
_MACHINE = {"gpus": Limit(minimum=0), "cpus": Limit(above=0), "memory_gb": Limit(above=0)}
_PROBE = {
    "path": Limit(pattern=r"/\S*", meaning="a path that begins with '/'"),
    "command": _NOT_EMPTY,
    "port": _PORT,
    "scheme": Limit(pattern="https?", meaning='"http" or "https"'),
    "initial_delay_seconds": _COUNT,
    "period_seconds": _COUNT,
    "timeout_seconds": _COUNT,
    "success_threshold": _COUNT,
    "failure_threshold": _COUNT,
    "max_wait_seconds": _COUNT,
}
_SOURCE = {
    "src": Limit(
        pattern=r"[A-Za-z][A-Za-z0-9+.-]*:\S+",
        meaning="an address with a scheme (s3, http, https, ftp, ftps, file, openml ...)",
    ),
    "path": Limit(pattern=r"/.*", meaning="an absolute path"),
    "digest": Limit(
        pattern="md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}",
        meaning="md5:<32 hex digits> or sha256:<64 hex digits>",
    ),
}
_METRIC = {
    "name": Limit(pattern=r"[^\x00-\x1f\x7f]{1,200}", meaning="1 to 200 printable characters"),
    "units": Limit(pattern=r"[^\x00-\x1f\x7f]{1,60}", meaning="1 to 60 printable characters"),
    "pattern": Limit(longest=4096),
    "threshold.sigma": Limit(above=0),
    "threshold.change": Limit(above=0),
    "threshold.min_effect": Limit(minimum=0),
}
_IMAGE = Limit(pattern=r"\S+", meaning="the name of an image, without spaces")
_VARIABLE = Limit(pattern=r"[^=\x00\s]+", meaning="the name of a variable, without '=' and spaces")


def _under(prefix: str, limits: dict[str, Limit]) -> dict[str, Limit]:
    return {f"{prefix}.{key}": limit for key, limit in limits.items()}


#: By field pattern (``fields.py``).
LIMITS: dict[str, Limit] = {
    "info.name": _LABEL,
    "info.labels.*": _LABEL_VALUE,
    "info.scheduling": Limit(longest=256),
    "info.execution_engine": _ONE_WORD,
    "subject.commit": _ONE_WORD,
    **_under("hardware", _MACHINE),
    "hardware.instance_type": _ONE_WORD,
    "hardware.availability_zone": _ONE_WORD,
    "hardware.aws_zone_id": _ONE_WORD,
    "hardware.max_wait_s": Limit(above=0, maximum=_YEAR_S),
    "hardware.max_cost": _COST,
    "hardware.distributed.num_instances": Limit(minimum=1, maximum=_MANY),
    "hardware.distributed.processes_per_instance": Limit(
        pattern="gpus|[1-9][0-9]{0,4}", meaning='"gpus" or a number of at least 1'
    ),
    "env.docker_image": _IMAGE,
    "env.inherit[]": _VARIABLE,
    "ml.benchmark_code": _NOT_EMPTY,
    "ml.framework_version": _ONE_WORD,
    "ml.script.script": Limit(pattern=r".+\.tar", meaning="the name of a .tar archive"),
    **_under("data.sources[]", _SOURCE),
    "measure.repeats": Limit(minimum=1, maximum=_MANY),
    "measure.warmups": Limit(minimum=0, maximum=_MANY),
    "measure.pin": Limit(
        pattern=r"|auto|[0-9]{1,4}(?:-[0-9]{1,4})?(?:,[0-9]{1,4}(?:-[0-9]{1,4})?)*",
        meaning='empty, "auto" or numbers of CPUs, such as "0-3,8"',
    ),
    "measure.nice": Limit(minimum=-20, maximum=19),
    "measure.governor": Limit(
        pattern="[a-z_]{0,15}", meaning='empty, or the name of a governor, such as "performance"'
    ),
    "measure.timeout_s": Limit(above=0, maximum=_YEAR_S),
    "limits.fetch_timeout_s": Limit(above=0, maximum=_YEAR_S),
    "limits.start_timeout_s": Limit(above=0, maximum=_YEAR_S),
    "limits.run_timeout_s": Limit(above=0, maximum=_YEAR_S),
    "limits.retries": Limit(minimum=0, maximum=100),
    "limits.retry_pause_s": Limit(minimum=0, maximum=LONGEST_PAUSE_S),
    "sweep.max_cost": _COST,
    "sweep.max_run_s": Limit(above=0, maximum=_MANY * 86_400),
    "sweep.max_parallel": Limit(minimum=1, maximum=_MANY),
    "sweep.stop_after": Limit(minimum=0, maximum=_MANY),
    "sweep.halving.keep": Limit(above=0, maximum=0.99),
    **_under("output.metrics[]", _METRIC),
    **_under("server.hardware", _MACHINE),
    "server.hardware.instance_type": _ONE_WORD,
    "server.env.docker_image": _IMAGE,
    "server.env.ports[]": _PORT,
    **_under("server.env.readiness_probe", _PROBE),
    **_under("server.env.liveness_probe", _PROBE),
    **_under("server.models[]", _SOURCE),
    **_under("server.output.metrics[]", _METRIC),
    "notify[].to": Limit(
        pattern=r"[A-Za-z][A-Za-z0-9+.-]*:\S{1,2000}",
        meaning="a target with a scheme, such as slack:#perf",
    ),
    "notify[].confirm_runs": Limit(minimum=0),
}
#: The free keys of a table, by the table's pattern.
KEY_LIMITS: dict[str, Limit] = {"info.labels": _LABEL, "env.vars": _VARIABLE, "server.env.vars": _VARIABLE}


def check(path: Path, pattern: str, value: Any) -> Remark | None:
    """The finding about one value; None if it is valid."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return Remark(message=f"{value} is not a finite number", remedy=_remedy(path))
    if isinstance(value, int) and abs(value) >= LARGEST:
        return Remark(message="the number is too large", remedy=_remedy(path))
    if isinstance(value, str) and "\0" in value:
        return Remark(message="the text contains a NUL character", remedy="remove it")
    limit = LIMITS.get(pattern)
    if limit is None or not isinstance(value, (str, int, float)) or limit.holds(value):
        return None
    return Remark(message=f"{quoted(value)} must be {limit.words()}", remedy=_remedy(path))


def check_key(path: Path, table: str) -> Remark | None:
    """The finding about the last key of a path in a table with free keys; None if it is valid."""
    limit = KEY_LIMITS.get(table)
    if limit is None or limit.holds(path[-1]):
        return None
    return Remark(message=f"the key {quoted(path[-1])} must be {limit.words()}", remedy="rename it")


def quoted(value: Any) -> str:
    """A value as JSON for a message, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _remedy(path: Path) -> str:
    example = examples.toml(path)
    return f"for example: {example}" if example else ""
