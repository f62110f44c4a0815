from anubis.testing.contracts.alerts import AlertsContract, CursorsContract


class TestAlerts(AlertsContract):
    pass


class TestCursors(CursorsContract):
    pass
