from anubis.testing.contracts.listing import ListingContract
from anubis.testing.contracts.runs import RunsContract


class TestRuns(RunsContract):
    pass


class TestListings(ListingContract):
    pass
