"""What tests of engines on this machine share: folders of a home, waiting for an observation, and the record."""

import json
from pathlib import Path

import pytest

from anubis.model.run import Seen
from anubis.record import layout
from anubis.testing.contracts.engine import EngineContract
from support.processes import until


def folders(home):
    """The folders of the engine ``container`` in a home folder, as its settings name them."""
    return {"folder": home / "container", "locks": home / "process", "records": home / "records"}


def seen(engine, placement, expected):
    """Wait until the engine sees that; returns the observation."""

    def look():
        observation = engine.observe([placement])[placement.name]
        return observation if observation.seen is expected else None

    return until(look, f"{placement.name} is {expected}")


def record_of(placement):
    return Path(placement.details["record"])


def facts_of(placement):
    return json.loads((record_of(placement) / layout.FACTS).read_bytes())


def stdout_of(placement):
    return (record_of(placement) / layout.STDOUT).read_text()


class HostEngineContract(EngineContract):
    """The contract for an engine whose placements end soon."""

    @pytest.fixture
    def ended(self, engine):
        return lambda placement: seen(engine, placement, Seen.ENDED)
