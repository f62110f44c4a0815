from anubis.testing.watchers_contract import AlertsContract, CursorsContract


class TestAlerts(AlertsContract):
    pass


class TestCursors(CursorsContract):
    pass
