"""Elements of SVG as text. Text from outside is escaped; every number is finite."""

import math
from collections.abc import Iterable
from html import escape

from anubis.reporting.markup import one_line


def number(value: float) -> str:
    """A coordinate with two decimals. Raises ValueError unless it is finite."""
    if not math.isfinite(value):
        raise ValueError(f"{value} is no coordinate")
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def shown(text: str, most: int = 200) -> str:
    """Text from outside as the content of an element or attribute, on one line."""
    return escape(one_line(text, most))


def text(content: str, x: float, y: float, kind: str, *, anchor: str = "start", most: int = 200) -> str:
    """A line of text of a class."""
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{number(x)}" y="{number(y)}"{anchored}>{shown(content, most)}</text>'


def path(steps: str, kind: str) -> str:
    """A path of a class; no element if it has no steps."""
    return f'<path class="{kind}" d="{steps}"/>' if steps else ""


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line of a class."""
    return path(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", kind)


def box(x: float, y: float, width: float, height: float, kind: str, *, title: str = "") -> str:
    """A rectangle of a class, with a title that a pointer shows."""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(max(0.0, width))}" height="{number(max(0.0, height))}"'
    inside = f"<title>{shown(title)}</title>" if title else ""
    return f'<rect class="{kind}" {place}>{inside}</rect>' if inside else f'<rect class="{kind}" {place}/>'


def dots(places: Iterable[tuple[float, float]]) -> str:
    """The steps of a path that draws a dot at each place, with a round line cap."""
    return "".join(f"M{number(x)} {number(y)}h0" for x, y in places)


def rings(places: Iterable[tuple[float, float]], radius: float = 3.0) -> str:
    """The steps of a path that draws a hollow circle at each place."""
    r = number(radius)
    width = number(2 * radius)
    return "".join(
        f"M{number(x - radius)} {number(y)}a{r} {r} 0 1 0 {width} 0a{r} {r} 0 1 0 -{width} 0"
        for x, y in places
    )


def joined(places: Iterable[tuple[float, float] | None]) -> str:
    """The steps of a line through the places; None is a gap."""
    steps, pen = [], "M"
    for place in places:
        if place is None:
            pen = "M"
            continue
        steps.append(f"{pen}{number(place[0])} {number(place[1])}")
        pen = "L"
    return "".join(steps)


def picture(
    size: tuple[float, float], parts: Iterable[str], kind: str, *, title: str, description: str
) -> str:
    """The complete image of a width and height. Its title and description are read aloud in place of it."""
    width, height = map(number, size)
    about = f"<title>{shown(title)}</title><desc>{shown(description, 2000)}</desc>"
    label = shown(f"{title}. {description}" if description else title, 2000)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart {kind}" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{about}{"".join(parts)}</svg>'
    )
