"""Delivers events to sinks, in order and at least once each."""

import logging
import traceback
from collections.abc import Callable
from dataclasses import replace

from anubis.contracts.clock import Clock
from anubis.contracts.events import Events, Publisher, Sink, Sinks, SinkState
from anubis.model.delivery import redacted, without_address
from anubis.model.errors import NotifyError
from anubis.model.run import Event
from anubis.pipeline.chores.delivering import LEASE_S, Delivering, pause_s

log = logging.getLogger(__name__)

#: Events that are read at once, and the time after which the position is stored, seconds: what a kill can repeat.
BATCH, STORE_EVERY_S = 200, 2.0


class EventRelay(Delivering[Sink]):
    """A chore that delivers each event to each sink of its kind.

    A sink has one attempt at a time, and an event follows only after the one before it was delivered: so the events of a run
    arrive in order. The position is stored after the attempts; if the process dies in between, they are repeated
    under the same ids. Nothing is given up: a sink that fails is tried again until it succeeds, is removed, or answers
    that it accepts no more events.
    """

    name = "event relay"

    def __init__(
        self,
        sinks: Sinks,
        events: Events,
        publisher: Callable[[], Publisher],
        clock: Clock,
        *,
        lease_s: float = LEASE_S,
    ) -> None:
        """``publisher`` is called at the first delivery, so that only processes that deliver load it."""
        super().__init__(sinks, clock, lease_s)
        self._sinks = sinks
        self._events = events
        self._publisher = publisher

    def _shown(self, item: Sink) -> str:
        return redacted(item.address)

    def _store_due(self, item: Sink, due_s: float) -> None:
        self._sinks.apply(self._owner, replace(item, due_s=due_s))

    def _attempt(self, item: Sink) -> bool:
        after = self._published(item)
        self._made(item)
        return self._sinks.apply(self._owner, after)

    def _published(self, sink: Sink) -> Sink:
        """The sink after the events of one batch, or up to the first failure."""
        started_s = self._clock.monotonic_s()
        for event in self._events.read_all(after_seq=sink.cursor, limit=BATCH):
            if not sink.kinds or event.kind in sink.kinds:
                try:
                    accepted = self._publisher().publish(sink, event)
                except NotifyError as error:
                    return self._failed(sink, str(error), error.again_after_s)
                except BaseException as error:  # noqa: BLE001  a defect must not stop the other sinks
                    trace = "".join(traceback.format_tb(error.__traceback__))
                    # Not log.exception: the text of the exception may contain the address.
                    log.error("sink %s: %s\n%s", sink.id, type(error).__name__, trace)  # noqa: TRY400
                    return self._failed(sink, f"{type(error).__name__}: {error}", None)
                if not accepted:
                    return self._refused(sink)
                sink = self._delivered(sink, event)
            sink = replace(sink, cursor=event.seq or sink.cursor)
            if self._clock.monotonic_s() - started_s >= STORE_EVERY_S:
                break
        return replace(sink, due_s=self._clock.now_s())

    def _delivered(self, sink: Sink, event: Event) -> Sink:
        now_s = self._clock.now_s()
        return replace(
            sink,
            cursor=event.seq or sink.cursor,
            attempts=0,
            error="",
            delivered=sink.delivered + 1,
            delivered_s=now_s,
        )

    def _refused(self, sink: Sink) -> Sink:
        log.warning(
            "webhook %s at %s is off: it accepts no more events (410)", sink.id, redacted(sink.address)
        )
        return replace(sink, state=SinkState.OFF, error="the receiver accepts no more events (410)")

    def _failed(self, sink: Sink, error: str, again_after_s: float | None) -> Sink:
        text = without_address(error, sink.address)
        tried = replace(sink, attempts=sink.attempts + 1, error=text)
        wait_s = pause_s(tried.attempts) if again_after_s is None else again_after_s
        log.warning("cannot deliver events to %s, retrying in %g s: %s", redacted(sink.address), wait_s, text)
        return replace(tried, due_s=self._due_after(sink, wait_s))
