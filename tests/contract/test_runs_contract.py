from anubis.testing.contracts.events import EventsContract
from anubis.testing.contracts.leases import ApplyContract, LeaseContract, ShareContract
from anubis.testing.contracts.listing import ListingContract
from anubis.testing.contracts.runs import RunsContract


class TestRuns(RunsContract):
    pass


class TestShares(ShareContract):
    pass


class TestLeases(LeaseContract):
    pass


class TestSteps(ApplyContract):
    pass


class TestEvents(EventsContract):
    pass


class TestListings(ListingContract):
    pass
