from anubis.testing.contracts.sinks import HoldsContract, SinksContract


class TestSinks(SinksContract):
    pass


class TestHolds(HoldsContract):
    pass
