"""How the templates write values: one form for a quantity, a time, a subject or a status on every page."""

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from markupsafe import Markup, escape

from anubis.analysis.quantities import percent
from anubis.model.points import OWN_METRICS
from anubis.model.status import Status
from anubis.reporting import markup, units
from anubis.reporting.status_words import WORDS, event_word

#: Longer texts of one line are cut.
MOST_CHARACTERS = 200
#: The sign before the word of a status, so that colour is not needed.
_SIGNS = {Status.SUCCEEDED: "✓", Status.FAILED: "✕", Status.CANCELLED: "–", Status.WATCH: "▶"}
_SPANS = ((60.0, 1.0, "s"), (3600.0, 60.0, "min"), (172_800.0, 3600.0, "h"), (float("inf"), 86_400.0, "d"))


def line(text: object, most: int = MOST_CHARACTERS) -> str:
    """Text from outside on one line of at most so many characters."""
    return markup.one_line(str(text), most)


def status(value: Status | str) -> Markup:
    """The status of a run: a sign and its word."""
    known = Status(value)
    kind = known.value if known.final else "active"
    return Markup('<span class="status {}"><span aria-hidden="true">{}</span> {}</span>').format(
        kind, _SIGNS.get(known, "◌"), WORDS[known]
    )


def moment(at_s: float | None) -> Markup:
    """A time: how long ago it was; its exact value appears when it is pointed at, and to programs."""
    if at_s is None:
        return Markup("")
    at = datetime.fromtimestamp(at_s, UTC)
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        f"{at:%Y-%m-%dT%H:%M:%SZ}", f"{at:%Y-%m-%d %H:%M:%S} UTC", _since(time.time() - at_s)
    )


def _since(seconds: float) -> str:
    size = abs(seconds)
    if size < 1:
        return "now"
    _limit, unit_s, unit = next(each for each in _SPANS if size < each[0])
    text = f"{size / unit_s:.0f} {unit}"
    return f"{text} ago" if seconds > 0 else f"in {text}"


def exact(at_s: float | None) -> str:
    """A time to the second, UTC."""
    return "" if at_s is None else f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


def clock(at_ns: int) -> str:
    """The time of a line of output, UTC, to the millisecond."""
    return f"{datetime.fromtimestamp(at_ns // 1_000_000_000, UTC):%H:%M:%S}.{at_ns // 1_000_000 % 1000:03d}"


def ratio(value: float | None, *, sign: bool = False) -> str:
    """A ratio in per cent; empty if it is unknown."""
    return "" if value is None else f"{percent(value, sign=sign)} %"


def pretty(value: Any) -> str:
    """JSON on several lines; invisible characters are escaped."""
    return markup.visible_json(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def link(path: str, **parameters: object) -> str:
    """An address with parameters; those without a value are left out."""
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(name, str(each)) for each in values if each not in (None, "")]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def segment(text: str) -> str:
    """A text as one part of a path."""
    return quote(text, safe="")


def short(run_id: str) -> str:
    """The first and the last digits of an id: as ids begin with their time, the first ones alone do not tell runs apart."""
    return f"{run_id[:8]}…{run_id[-4:]}" if len(run_id) > 16 else run_id


def labels(values: Mapping[str, Any]) -> str:
    """Names and values on one line."""
    return line(
        ", ".join(f"{name}={value + 1 if name == 'round' else value}" for name, value in values.items())
    )


def main_values(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The values of the metrics of a benchmark by name; those that the agent measures of every run are last."""
    return sorted(values.items(), key=lambda each: (each[0] in OWN_METRICS, each[0]))


FILTERS: dict[str, Callable[..., Any]] = {
    "line": line,
    "status": status,
    "moment": moment,
    "exact": exact,
    "clock": clock,
    "ratio": ratio,
    "pretty": pretty,
    "segment": segment,
    "short": short,
    "labels": labels,
    "main_values": main_values,
    "duration": units.duration,
    "size": units.size,
    "subject": markup.short_subject,
    "visible": markup.visible,
    "event_word": event_word,
    "escape": escape,
}
GLOBALS: dict[str, Callable[..., Any]] = {
    "link": link,
    "with_unit": units.with_unit,
    "counted": units.counted,
}
