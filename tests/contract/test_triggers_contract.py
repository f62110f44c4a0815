from anubis.testing.contracts.triggers import TriggersContract


class TestTriggers(TriggersContract):
    pass
