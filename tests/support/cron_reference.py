"""Due times of cron expressions by trying every minute, independent of the library that computes them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)


def values(field, least, most):
    """The values of a field of numbers, ranges, lists and steps."""
    found = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            first, last = least, most
        else:
            first, _, last = span.partition("-")
            first, last = int(first), int(last or (most if step else first))
        found |= set(range(first, last + 1, int(step or 1)))
    return found


class Expression:
    def __init__(self, text):
        self.fields = text.split()
        minute, hour, day, month, weekday = self.fields
        self.minutes, self.hours = values(minute, 0, 59), values(hour, 0, 23)
        self.days, self.months = values(day, 1, 31), values(month, 1, 12)
        self.weekdays = {value % 7 for value in values(weekday, 0, 7)}
        self.both_days = day.startswith("*") or weekday.startswith("*")
        #: Fixed times of a day, which follow the clock on the wall; other expressions follow elapsed time.
        self.is_fixed = not minute.startswith("*") and not hour.startswith("*")

    def is_day(self, date):
        day, weekday = date.day in self.days, date.isoweekday() % 7 in self.weekdays
        return date.month in self.months and (day and weekday if self.both_days else day or weekday)

    def matches(self, local):
        return local.minute in self.minutes and local.hour in self.hours and self.is_day(local)


def due_between(text, zone, start_s, end_s):
    """All due times after the first time, up to the last; UTC seconds."""
    expression, zone = Expression(text), ZoneInfo(zone)
    start, end = (datetime.fromtimestamp(at_s, UTC) for at_s in (start_s, end_s))
    found = (
        fixed_times(expression, zone, start, end)
        if expression.is_fixed
        else elapsed(expression, zone, start, end)
    )
    return sorted(at_s for at_s in {each.timestamp() for each in found} if start_s < at_s <= end_s)


def elapsed(expression, zone, start, end):
    at = start.replace(second=0, microsecond=0)
    while at <= end:
        local = at.astimezone(zone)
        if local.second == 0 and expression.matches(local):
            yield at
        at += MINUTE


def fixed_times(expression, zone, start, end):
    """Each time on the clock once: the first of two, or the end of the gap in which it lies."""
    date = start.astimezone(zone).date() - timedelta(days=1)
    while date <= end.astimezone(zone).date():
        if expression.is_day(date):
            for hour in expression.hours:
                for minute in expression.minutes:
                    yield after_gap(
                        datetime(date.year, date.month, date.day, hour, minute, tzinfo=zone), zone
                    )
        date += timedelta(days=1)


def after_gap(local, zone):
    at = local.astimezone(UTC)
    if at.astimezone(zone).replace(tzinfo=None, fold=0) == local.replace(tzinfo=None):
        return at
    # In a gap, fold=0 is read with the offset before the change, so the change came before this time.
    before = at.astimezone(zone).utcoffset()
    while (at - MINUTE).astimezone(zone).utcoffset() == before:
        at -= MINUTE
    return at
