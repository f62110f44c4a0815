"""The cost of runs: the time for which machines were occupied, times their price."""

import logging

from anubis.contracts.records import RecordKey, RoleFiles
from anubis.contracts.world import World
from anubis.model.descriptor import Descriptor
from anubis.model.errors import AnubisError
from anubis.model.hardware import NO_PRICES, UNKNOWN, Cost, Prices, parsed
from anubis.model.run import Run
from anubis.record.reading import Record

log = logging.getLogger(__name__)
_HOUR_S = 3600.0


def price_per_hour(descriptor: Descriptor, prices: Prices, host: str, *, one_machine: bool) -> float | None:
    """The price of all machines of a run; None if the price of one is unknown.

    ``host``: the machine of the benchmark. ``one_machine``: all replicas share it.
    """
    hardware, server = descriptor.hardware, descriptor.server
    first = prices.per_hour(hardware.instance_type, host)
    if one_machine or first is None:
        return first
    more = hardware.distributed.num_instances - 1 if hardware.distributed else 0
    others = [hardware.instance_type] * more + ([server.hardware.instance_type] if server else [])
    each = [prices.per_hour(kind) for kind in others]
    known = [price for price in each if price is not None]
    return first + sum(known) if len(known) == len(each) else None


def attempt_cost(run: Run, record: Record, world: World) -> Cost | None:
    """The cost of an attempt that has ended; None if its agent did not start, or without a price table.

    The time is that of the agent. A lost agent counts until its loss was noticed.
    """
    facts, ended = record.facts, record.exit
    started_s = _time(facts.get("started_s"), _time(ended.get("started_s"), run.placed_s))
    if started_s is None or not (facts or ended) or not _has_prices(world):
        return None
    ended_s = _time(ended.get("ended_s"), world.clock.now_s())
    return _cost(run, world, record, max(0.0, (ended_s or started_s) - started_s))


def overspent(run: Run, world: World, waited_s: float) -> str:
    """Why the run must stop to keep ``hardware.max_cost``; empty: it may continue. ``waited_s``: since its placement."""
    if run.descriptor.hardware.max_cost is None:
        return ""
    limit = parsed(run.descriptor.hardware.max_cost)
    record = Record(RoleFiles(world.records, RecordKey(run.id, run.attempt)))
    spent = _cost(run, world, record, waited_s)
    if run.cost is not None:
        spent = run.cost.plus(spent)
    if spent.amount is None or spent.currency != limit.currency:
        if not record.facts:
            return ""
        host = record.facts.get("hostname", "")
        return f"the price of machine {run.descriptor.hardware.instance_type} ({host}) in {limit.currency} is not known"
    if limit.amount is None or spent.amount < limit.amount:
        return ""
    return f"it has cost {spent.amount:.4g} of {limit.amount:g} {limit.currency}"


def _cost(run: Run, world: World, record: Record, seconds: float) -> Cost:
    engine = world.engines.get(run.engine)
    one_machine = engine is not None and engine.capabilities.mounting.one_machine
    prices = _prices(world)
    host = str(record.facts.get("hostname", ""))
    price = price_per_hour(run.descriptor, prices, host, one_machine=one_machine)
    if price is None:
        return UNKNOWN
    return Cost(amount=price * seconds / _HOUR_S, currency=prices.currency)


def _has_prices(world: World) -> bool:
    """Whether there is a price table, also one that is not valid."""
    try:
        return world.prices.current() != NO_PRICES
    except AnubisError:
        return True


def _prices(world: World) -> Prices:
    """The current prices; none if their file is not valid."""
    try:
        return world.prices.current()
    except AnubisError as error:
        log.warning("costs are unknown: %s", error)
        return NO_PRICES


def _time(value: object, other: float | None) -> float | None:
    return float(value) if isinstance(value, int | float) else other
