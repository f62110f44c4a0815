"""Writes the data sets of each day after its end."""

import logging

from anubis.contracts.world import World
from anubis.model.errors import AnubisError
from anubis.transfer.daily.archive import Archive, Place

log = logging.getLogger(__name__)

#: Interval between looks for days that have ended and for late events, seconds.
EVERY_S = 3600.0


class Archiving:
    """A chore that writes an archive once an hour; several may share one archive, of which one writes."""

    name = "archive"

    def __init__(self, world: World, place: Place) -> None:
        self._world = world
        self._place = place
        self._archive = Archive(place.objects)
        self._next_s = 0.0

    def turn(self) -> float | None:
        """Write what is new; None: no worker waits for the next day."""
        now_s = self._world.clock.monotonic_s()
        if now_s < self._next_s:
            return None
        self._next_s = now_s + EVERY_S
        try:
            with self._place.locked() as is_writer:
                if is_writer:
                    for manifest in self._archive.write(self._world):
                        log.info("wrote the data sets of %s", manifest["day"])
        except AnubisError as error:
            log.warning("cannot write the archive %s: %s", self._place.name, error)
        return None
