"""The dimension of a metric and, if it is certain, its direction, derived from the unit."""

import re
from functools import cache

from anubis.model.metric import Better

_TIME = re.compile(
    r"(?:n|u|µ|μ|m)?s(?:ec(?:ond)?s?)?|(?:nano|micro|milli)?sec(?:ond)?s?|min(?:ute)?s?|h(?:ours?|rs?)?",
    re.IGNORECASE,
)
_BYTES = re.compile(r"(?:[kmgt]i?)?b(?:yte)?s?|(?:kilo|mega|giga|tera|kibi|mebi|gibi)bytes?", re.IGNORECASE)
_BITS = re.compile(r"(?:[kmgt]i?)?bits?|(?:kilo|mega|giga|tera)bits?", re.IGNORECASE)
_WORK = re.compile(
    r"(?:[kmgt])?(?:ops?|operations?|iter(?:ation)?s?|items?|reqs?|requests?|quer(?:y|ies)|transactions?|images?|img|"
    r"samples?|tokens?|tok|records?|rows?|messages?|msgs?|events?|frames?|steps?|examples?|calls?|flops?|runs?)",
    re.IGNORECASE,
)
_PER_SECOND = re.compile(r"(.+?)\s*(?:/\s*|\s+per\s+|_per_)s(?:ec(?:ond)?)?", re.IGNORECASE)
_PER_CALL = re.compile(
    r"(.+?)\s*(?:/\s*|\s+per\s+|_per_)(?:iter(?:ation)?|op(?:eration)?|call|loop)", re.IGNORECASE
)
_RATE = re.compile(r"[kmgt]?(?:bps|ops|qps|rps|tps|fps|flops)|flop/?s|[kmgtp]flop/?s", re.IGNORECASE)

TIME = "time"
THROUGHPUT = "throughput"
MEMORY = "memory"
VALUE = "value"


@cache
def dimension(units: str) -> str:
    """``time``, ``throughput``, ``memory`` (bytes for each call) or, for any other unit, ``value``.

    A rate is throughput only if it counts work or bytes: errors per second are not throughput.
    """
    units = units.strip()
    if per_second := _PER_SECOND.fullmatch(units):
        work = any(kind.fullmatch(per_second[1]) for kind in (_WORK, _BYTES, _BITS))
        return THROUGHPUT if work else VALUE
    if _RATE.fullmatch(units):
        return THROUGHPUT
    per_call = _PER_CALL.fullmatch(units)
    if _TIME.fullmatch(per_call[1] if per_call else units):
        return TIME
    if per_call and _BYTES.fullmatch(per_call[1]):
        return MEMORY
    return VALUE


def direction(units: str) -> Better:
    """The direction if the unit determines it: lower is better for time, higher for throughput."""
    return {TIME: Better.LOWER, THROUGHPUT: Better.HIGHER, MEMORY: Better.LOWER}.get(
        dimension(units), Better.NONE
    )
