import pytest

from anubis.testing import FakeEngine
from anubis.testing.contracts.engine import EngineContract


class TestFakeEngine(EngineContract):
    @pytest.fixture
    def engine(self):
        return FakeEngine()

    @pytest.fixture
    def ended(self, engine):
        return engine.end
