from anubis.testing.listing_contract import ListingContract
from anubis.testing.runs_contract import RunsContract


class TestRuns(RunsContract):
    pass


class TestListings(ListingContract):
    pass
