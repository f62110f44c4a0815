import pytest

from anubis.store import listing
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


class TestListingsOfCommonMetrics(ListingContract):
    """Every metric counts as common, so that the other condition selects its runs."""

    @pytest.fixture(autouse=True)
    def every_metric_is_common(self, monkeypatch):
        monkeypatch.setattr(listing, "_MOST_RARE", -1)
