"""Several relays on one database: no delivery is attempted twice at the same time, and each address keeps its order."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from anubis.model.delivery import DeliveryStatus
from anubis.model.errors import NotifyError
from anubis.pipeline.relay import Relay
from anubis.store import open_store
from anubis.testing import FakeClock, a_run
from anubis.testing.contracts.alerts import an_alert
from anubis.testing.contracts.deliveries import a_delivery

RELAYS = 4
ADDRESSES = [f"fake:{name}" for name in "abc"]
ALERTS = [f"{number:016x}" for number in range(12)]


class Receivers:
    """Refuse every third attempt, and note what arrives."""

    def __init__(self):
        self.arrived = {to: [] for to in ADDRESSES}
        self.overlaps = []
        self._busy = {to: threading.Lock() for to in ADDRESSES}
        self._attempts = dict.fromkeys(ADDRESSES, 0)

    def notify(self, to, alert):
        if not self._busy[to].acquire(blocking=False):
            self.overlaps.append((to, alert.id))
            return
        try:
            self._attempts[to] += 1
            if self._attempts[to] % 3 == 0:
                raise NotifyError("busy", again_after_s=0.0)
            self.arrived[to].append(alert.id)
        finally:
            self._busy[to].release()


@pytest.fixture
def stores(database_url):
    opened = [open_store(database_url) for _ in range(RELAYS)]
    yield opened
    for store in opened:
        store.close()


def test_every_delivery_arrives_once_and_in_order(stores):
    run = a_run()
    stores[0].runs.add([(run, "")], [])
    for alert in ALERTS:
        stores[0].alerts.put([an_alert(alert)], [], [a_delivery(run, to, alert) for to in ADDRESSES])
    receivers = Receivers()
    start = threading.Barrier(RELAYS)

    def relay_all(store):
        relay = Relay(store.deliveries, store.alerts, {"fake": receivers}, FakeClock())
        start.wait()
        while relay.turn() is not None:
            pass

    with ThreadPoolExecutor(RELAYS) as pool:
        list(pool.map(relay_all, stores))

    assert receivers.overlaps == []
    assert receivers.arrived == dict.fromkeys(ADDRESSES, ALERTS)
    for alert in ALERTS:
        assert {each.status for each in stores[0].deliveries.of(alert)} == {DeliveryStatus.DELIVERED}
    delivered = [event.data for event in stores[0].events.read(run.id) if event.kind == "delivered"]
    assert len(delivered) == len(ALERTS) * len(ADDRESSES)
