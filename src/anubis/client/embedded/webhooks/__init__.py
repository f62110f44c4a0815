"""Webhooks of this installation."""

import difflib
from collections.abc import Sequence
from dataclasses import replace

from anubis.client.protocol import webhooks as protocol
from anubis.contracts.events import KINDS, Sink
from anubis.model.delivery import redacted
from anubis.model.errors import BadInputError, NotifyError
from anubis.model.ids import new_run_id
from anubis.wiring import Installation


class Webhooks(protocol.Webhooks):
    """``Webhooks`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._sinks = installation.store.sinks
        self._events = installation.store.events
        self._publisher = installation.publisher
        self._clock = installation.clock

    def add(self, address: str, secret: str, *, kinds: Sequence[str] = (), past: bool = False) -> Sink:
        for kind in kinds:
            _check(kind)
        try:
            self._publisher().check(address, secret)
        except NotifyError as error:
            raise BadInputError(error.message, remedy=error.remedy) from error
        now_s = self._clock.now_s()
        sink = Sink(
            id=new_run_id(),
            address=address,
            secret=secret.strip(),
            kinds=tuple(dict.fromkeys(kinds)),
            created_s=now_s,
            cursor=0 if past else self._events.last(),
            due_s=now_s,
        )
        self._sinks.add(sink)
        return _shown(self._sinks.get(sink.id))

    def find(self) -> Sequence[Sink]:
        return list(map(_shown, self._sinks.find()))

    def get(self, ref: str) -> Sink:
        return _shown(self._sinks.get(ref))

    def remove(self, ref: str) -> Sink:
        sink = self._sinks.get(ref)
        self._sinks.remove(sink.id)
        return _shown(sink)

    def resume(self, ref: str) -> Sink:
        sink = self._sinks.get(ref)
        self._sinks.resume(sink.id, now_s=self._clock.now_s())
        return _shown(self._sinks.get(sink.id))

    def test(self, ref: str) -> None:
        sink = self._sinks.get(ref)
        if not self._publisher().test(sink):
            raise NotifyError(
                f"{redacted(sink.address)} answered that it accepts no more events (410)", permanent=True
            )


def _shown(sink: Sink) -> Sink:
    return replace(sink, secret="", address=redacted(sink.address))


def _check(kind: str) -> None:
    if kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"use one of {', '.join(KINDS)}"
        raise BadInputError(f'"{kind}" is not a kind of events', remedy=remedy)
