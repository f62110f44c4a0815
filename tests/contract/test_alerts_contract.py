from anubis.testing.contracts.alerts import AlertsContract
from anubis.testing.contracts.deliveries import DeliveriesContract


class TestAlerts(AlertsContract):
    pass


class TestDeliveries(DeliveriesContract):
    pass
