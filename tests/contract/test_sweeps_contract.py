from anubis.testing.contracts.sweeps import SweepsContract


class TestSweeps(SweepsContract):
    pass
