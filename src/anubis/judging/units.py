"""Values of one metric in one unit: points and histories that were measured in several."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from anubis.model.errors import BadInputError
from anubis.model.points import Point, PointBlock
from anubis.record.units import conflict, ratio

#: Series key, fingerprint, metric.
Place = tuple[str, str, str]


def place_of(one: Point | PointBlock) -> Place:
    """The metric of a series on one machine, whatever its unit."""
    return one.series_key, one.fingerprint, one.metric


def in_unit(points: Iterable[Point], units: str) -> list[Point]:
    """The points in this unit. Raises BadInputError with all metrics that cannot be converted."""
    converted, conflicts = [], {}
    for point in points:
        fraction = ratio(point.units, units)
        if fraction is None:
            conflicts[point.metric] = conflict(point.metric, units, point.units)
        else:
            converted.append(_scaled(point, units, *fraction))
    if conflicts:
        raise BadInputError(
            "; ".join(conflicts.values()), remedy="compare only runs that measure the metric in one unit"
        )
    return converted


def in_newest_unit(points: Sequence[Point]) -> list[Point]:
    """A series, oldest point first, in the unit of its newest point; points that cannot be converted are left out."""
    return [
        _scaled(point, points[-1].units, *fraction)
        for point in points
        if (fraction := ratio(point.units, points[-1].units))
    ]


def joined(blocks: Iterable[PointBlock], units: Mapping[Place, str]) -> list[PointBlock]:
    """One block for each metric on each machine where units can be converted: in the given unit, else in that of the first."""
    several: dict[tuple[Place, str], list[PointBlock]] = defaultdict(list)
    for block in blocks:
        to = units.get(place_of(block), block.units)
        several[place_of(block), to if ratio(block.units, to) else block.units].append(block)
    return [_joined(parts, units) for (_, units), parts in several.items()]


def _joined(parts: Sequence[PointBlock], units: str) -> PointBlock:
    if len(parts) == 1 and parts[0].units == units:
        return parts[0]
    scaled = [_scaled_block(part, units) for part in parts]
    places = [(number, at) for number, part in enumerate(scaled) for at in range(len(part.run_ids))]
    places.sort(key=lambda place: (scaled[place[0]].orders_s[place[1]], scaled[place[0]].run_ids[place[1]]))
    columns: dict[str, Any] = {
        column.name: tuple(getattr(scaled[number], column.name)[at] for number, at in places)
        for column in fields(PointBlock)
        if isinstance(getattr(parts[0], column.name), tuple) and getattr(parts[0], column.name)
    }
    return replace(scaled[-1], **columns)


def _scaled_block(block: PointBlock, units: str) -> PointBlock:
    above, below = ratio(block.units, units) or (1, 1)
    return replace(
        block,
        units=units,
        values=tuple(value * above / below for value in block.values),
        spreads=tuple(None if spread is None else spread * above / below for spread in block.spreads),
    )


def _scaled(point: Point, units: str, above: int, below: int) -> Point:
    if point.units == units:
        return point
    spread = None if point.spread is None else point.spread * above / below
    return replace(point, units=units, value=point.value * above / below, spread=spread)
